// SPDX-License-Identifier: BSD-3-Clause
//
// A model that runs as blocks of a card, with its wire in the card's memory. The process that owns
// it starts and stops the blocks, hands them memory, and asks for their counters; no register of
// the data path and no byte of a frame passes through it.
//
// While memory comes or goes the blocks are stopped: all their state is in the card, and they go on
// from it a moment later.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bar/dma.h"
#include "bar/ring_memory.h"
#include "device/grid/card.h"
#include "emulator/arguments.h"
#include "emulator/grid/executor.h"
#include "emulator/grid/host_pages.h"
#include "emulator/grid/program.h"
#include "emulator/hosted_model.h"

namespace sluice::emulator {

/// Used as RunningModel is.
class GridModel final : public HostedModel, private bar::DmaObserver {
 public:
  /// The blocks do not run before Connect. Null, with one line in `error` that names the argument
  /// and the fix, if `arguments` ask for what there is not.
  static std::unique_ptr<GridModel> Create(std::string_view name, const ModelInfo& model,
                                           const Arguments& arguments, const MacAddress& mac,
                                           std::string* error);
  ~GridModel() override;

  bool Connect(const SettingValues& settings, const bar::DmaSpace& dma, bar::PostedQueue* queue,
               std::string* error) override;
  /// The models that run here raise none.
  void SetInterrupts(device::InterruptSink*) override {}
  /// The blocks always may master the bus: `on=` is refused with --vfio_user, where a guest
  /// decides.
  void SetMastering(bool) override {}
  void TakeMemory(const std::function<void()>& change) override;
  void Disconnect(bool died) override;
  std::vector<Statistic> Statistics() override;
  bool WireUp() const override { return true; }
  void EnableWire(bool enabled) override;
  const MacAddress& mac() const override { return mac_; }

 private:
  /// Host memory that both sides read.
  struct Lines {
    device::grid::Control control;
    device::grid::Report report;
  };
  /// No block runs while one exists. The mutex is held.
  class Pause;

  GridModel(std::string_view name, const GridProgram& program, const MacAddress& mac,
            const OnOptions& on);
  bool Start(const Arguments& arguments, std::string* error);
  bool StartBlocks(std::string* error);
  void StopBlocks();
  void RangesChanged(const std::vector<bar::DmaMapping>& ranges) override;
  void ShareMemory(const std::vector<bar::DmaMapping>& ranges);
  /// Copies the card's structure to `image_`, or back.
  void Fetch();
  bool Store();
  /// Asks the register block for the counters; returns once it has answered, does not run, or let
  /// kPatience pass.
  void Request();
  void Watch();
  uint64_t Outstanding() const;
  std::string Summary() const;

  const std::string name_;
  const GridProgram& program_;
  const MacAddress mac_;
  const OnOptions on_;

  std::recursive_mutex mutex_;
  std::unique_ptr<Executor> executor_;
  bar::RingMemory lines_memory_;
  Lines* lines_ = nullptr;
  std::unique_ptr<std::byte[], void (*)(std::byte*)> image_memory_{nullptr, nullptr};
  device::grid::Card* image_ = nullptr;  ///< The card's structure, as it is at the next start.
  device::grid::Card* card_ = nullptr;   ///< In the card's memory: not to be followed here.
  uint8_t* staging_ = nullptr;
  std::unique_ptr<HostPages> pages_;
  const bar::DmaSpace* dma_ = nullptr;
  bar::PostedQueue* queue_ = nullptr;
  uint32_t pauses_ = 0;
  bool running_ = false;
  uint64_t abandoned_ = 0;
  device::grid::Counters counters_{};  ///< As they were last reported.

  std::mutex stop_mutex_;
  std::condition_variable stop_changed_;
  bool stopping_ = false;
  std::thread watch_;
};

}  // namespace sluice::emulator
