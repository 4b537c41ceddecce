// SPDX-License-Identifier: BSD-3-Clause
//
// A model that needs at least a millisecond per register access, and counts accesses.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "emulator/hosted_model.h"

namespace sluice::emulator::vfio_user::test {

class SlowModel final : public HostedModel {
 public:
  SlowModel() {
    thread_ = std::thread([this] {
      for (; !stop_; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
        const std::scoped_lock lock(mutex_);
        if (queue_ == nullptr) continue;
        queue_->Drain(
            1, [this](bar::RegisterAccess) { ++writes_; },
            [this](bar::RegisterAccess) {
              ++reads_;
              return uint64_t{0};
            });
      }
    });
  }
  ~SlowModel() override {
    stop_ = true;
    thread_.join();
  }
  uint64_t reads() const { return reads_; }
  uint64_t writes() const { return writes_; }

  bool Connect(const SettingValues&, const bar::DmaSpace&, bar::PostedQueue* queue,
               std::string*) override {
    const std::scoped_lock lock(mutex_);
    queue_ = queue;
    return true;
  }
  /// Executes all posted writes before disconnecting.
  void Disconnect(bool) override {
    const std::scoped_lock lock(mutex_);
    if (queue_ != nullptr) {
      queue_->Drain(
          bar::PostedQueue::kDepth, [this](bar::RegisterAccess) { ++writes_; },
          [](bar::RegisterAccess) { return uint64_t{0}; });
    }
    queue_ = nullptr;
  }
  void SetInterrupts(device::InterruptSink*) override {}
  void SetMastering(bool) override {}
  void ChangeMemory(const std::function<void()>& change) override { change(); }
  std::vector<Statistic> Statistics() override { return {}; }
  bool WireUp() const override { return true; }
  void EnableWire(bool) override {}
  const std::array<uint8_t, 6>& mac() const override { return mac_; }

 private:
  const std::array<uint8_t, 6> mac_ = {2, 0, 0, 0, 0, 1};
  std::mutex mutex_;
  bar::PostedQueue* queue_ = nullptr;
  std::atomic<uint64_t> reads_{0}, writes_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sluice::emulator::vfio_user::test
