// SPDX-License-Identifier: BSD-3-Clause
//
// A placement policy for tests: processes are served in the order in which they request cores, and
// a core is preempted after a slice.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>

#include "device/rpc/placement.h"

namespace sluice::device::rpc::test {

/// Also checks the guarantees that the dispatcher gives to implementations of Placement.
class FifoPlacement final : public Placement {
 public:
  /// `slice`: time in ns after which a core is preempted; unlimited by default.
  explicit FifoPlacement(uint64_t slice = ~uint64_t{0}) : slice_(slice) {}

  void Wants(ProcessId process, bool preempted, uint64_t) override {
    sound_ &= std::ranges::find(queue_, process) == queue_.end();
    preempted_ += preempted;
    queue_.push_back(process);
  }
  void Withdraw(ProcessId process) override {
    sound_ &= std::ranges::count(queue_, process) == 1;
    std::erase(queue_, process);
  }
  std::optional<ProcessId> Next(CoreId core, uint64_t now_ns) override {
    sound_ &= !held_[core];
    if (queue_.empty()) return {};
    const ProcessId next = queue_.front();
    queue_.pop_front();
    held_[core] = true;
    since_[core] = now_ns;
    return next;
  }
  bool Preempts(CoreId core, uint64_t now_ns) override {
    sound_ &= held_[core];
    return !queue_.empty() && now_ns - since_[core] >= slice_;
  }
  void Left(CoreId core, uint64_t) override {
    sound_ &= held_[core];
    held_[core] = false;
  }

  /// Returns whether the dispatcher has kept all guarantees.
  bool sound() const { return sound_; }
  uint64_t preempted() const { return preempted_; }
  bool empty() const { return queue_.empty(); }

 private:
  uint64_t slice_;
  std::deque<ProcessId> queue_;
  std::array<bool, kMaxCores> held_{};
  std::array<uint64_t, kMaxCores> since_{};
  uint64_t preempted_ = 0;
  bool sound_ = true;
};

}  // namespace sluice::device::rpc::test
