// SPDX-License-Identifier: BSD-3-Clause
//
// A model that runs as blocks on a card, with its wire in card memory. The owning process starts
// and stops the blocks, gives them memory, and requests their counters. The process does not handle
// data-path registers or frame bytes.
//
// The blocks are stopped while memory is added or removed. All of their state is on the card, so
// they can continue afterwards.
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
#include "device/grid/samples.h"
#include "emulator/arguments.h"
#include "emulator/grid/executor.h"
#include "emulator/grid/host_pages.h"
#include "emulator/grid/program.h"
#include "emulator/grid/sample_reader.h"
#include "emulator/hosted_model.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// See RunningModel for the rules of use.
class GridModel final : public HostedModel, private bar::DmaObserver {
 public:
  /// Creates a model, whose blocks do not run before Connect. If `arguments` cannot be satisfied,
  /// returns null and sets `error` to a one-line message that names the argument and the fix. If
  /// MakeGpuExecutor failed, errno has the value that it set.
  static std::unique_ptr<GridModel> Create(std::string_view name, const ModelInfo& model,
                                           const Arguments& arguments, const MacAddress& mac,
                                           std::string* error);
  ~GridModel() override;

  bool Connect(const SettingValues& settings, const bar::DmaSpace& dma, bar::PostedQueue* queue,
               std::string* error) override;
  /// Has no effect: these models do not raise interrupts.
  void SetInterrupts(device::InterruptSink*) override {}
  /// Has no effect: bus mastering is always enabled for the blocks. `on=` is rejected with
  /// --vfio_user, where a guest controls bus mastering.
  void SetMastering(bool) override {}
  void ChangeMemory(const std::function<void()>& change) override;
  void Disconnect(bool died) override;
  std::vector<Statistic> Statistics() override;
  bool WireUp() const override { return true; }
  void EnableWire(bool enabled) override;
  const MacAddress& mac() const override { return mac_; }

 private:
  /// Host memory that the card and this process access.
  struct Lines {
    device::grid::Control control;
    device::grid::Report report;
    device::grid::Sample samples[device::grid::kSamples];
  };
  // Both classes stop the blocks while an instance exists.
  class Pause;
  class LockedPause;

  GridModel(std::string_view name, const GridProgram& program, const MacAddress& mac,
            const OnOptions& on);
  bool Start(const Arguments& arguments, std::string* error);
  bool StartBlocks(std::string* error);
  void StopBlocks();
  void RangesChanged(const std::vector<bar::DmaMapping>& ranges) override;
  /// Registers the memory that the blocks may access: the queue and the host's shared memory.
  /// Returns the first reason why a part cannot be registered, or an empty string. Addresses in
  /// such a part cannot be translated by the blocks, so rings in it are rejected.
  std::string ShareMemory(const std::vector<bar::DmaMapping>& ranges);
  bool IsHeld(const HostPages::Range& range) const;
  /// Copy the card's structure to `image_`, and back.
  void Fetch();
  bool Store();
  /// Requests the counters from the register block. Returns when the block has answered or is not
  /// running, or after kPatience.
  void Request();
  void Watch();
  uint64_t Outstanding() const;
  std::string Summary() const;

  const std::string name_;
  const GridProgram& program_;
  const MacAddress mac_;
  OnOptions on_;

  std::recursive_mutex mutex_;
  std::unique_ptr<Executor> executor_;
  bar::RingMemory lines_memory_;
  Lines* lines_ = nullptr;
  std::unique_ptr<std::byte[], void (*)(std::byte*)> image_memory_{nullptr, nullptr};
  /// This process's copy of the card's structure, for the next start.
  device::grid::Card* image_ = nullptr;
  /// Address in the card's memory; must not be dereferenced here.
  device::grid::Card* card_ = nullptr;
  uint8_t* staging_ = nullptr;
  std::unique_ptr<HostPages> pages_;
  const bar::DmaSpace* dma_ = nullptr;
  bar::PostedQueue* queue_ = nullptr;
  uint32_t pauses_ = 0;
  bool resumes_ = false;  ///< Whether the blocks start when the last pause ends.
  bool running_ = false;
  bool dead_ = false;  ///< The blocks ended without having been asked to.
  uint64_t abandoned_ = 0;
  uint64_t unregistered_bytes_ = 0;    ///< Shared memory that could not be registered.
  device::grid::Counters counters_{};  ///< The last reported values.

  bool source_ = true;          ///< False: the wire is a loopback.
  std::unique_ptr<Wire> wire_;  ///< Owns the recording; may be null.
  std::unique_ptr<SampleReader> samples_;

  std::mutex stop_mutex_;
  std::condition_variable stop_changed_;
  bool stopping_ = false;
  std::thread watch_;
};

}  // namespace sluice::emulator
