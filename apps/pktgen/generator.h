// SPDX-License-Identifier: BSD-3-Clause
//
// One run as the main thread sees it: traffic, what workers share, when it began and ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/pktgen/trial.h"
#include "nic/queue_counters.h"
#include "settings.h"

namespace sluice::pktgen {

/// TSC cycles in picoseconds.
class Clock {
 public:
  explicit Clock(uint64_t hz)
      : ps_per_cycle_(static_cast<uint64_t>(
            (static_cast<unsigned __int128>(engine::pktgen::kPsPerSecond) << kFraction) / hz)) {}
  uint64_t Ps(uint64_t cycles) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(cycles) * ps_per_cycle_ >>
                                 kFraction);
  }

 private:
  static constexpr uint32_t kFraction = 32;
  uint64_t ps_per_cycle_;  ///< Times 2^kFraction.
};

/// What one worker and the main thread tell each other.
struct alignas(64) WorkerState {
  std::atomic<bool> over{false};  ///< The worker sends nothing any more.
  const nic::QueueCounters* queue = nullptr;  ///< Set before the worker's first poll.
};

class Generator {
 public:
  /// `settings` outlive it. Null, with one line in `error`, if the traffic cannot be.
  static std::unique_ptr<Generator> Make(const Settings& settings, uint32_t workers,
                                         uint64_t line_bps, uint64_t hz, std::string* error);

  engine::pktgen::Trial& trial() { return *trial_; }
  const engine::pktgen::Traffic& traffic() const { return *traffic_; }
  const Clock& clock() const { return clock_; }
  WorkerState& state(uint32_t worker) { return states_[worker]; }

  /// The first frames are due now; main thread, once.
  void Start(uint64_t now_cycles) { start_cycles_.store(now_cycles, std::memory_order_release); }
  /// 0: not yet.
  uint64_t start_cycles() const { return start_cycles_.load(std::memory_order_acquire); }
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

  /// Whether everything that will be sent was.
  bool Over(uint64_t now_cycles) const;
  /// Stops sending, and waits until every frame is back, or none has come for long enough.
  void Settle();
  /// Takes what was found. Once no worker works any more, while their queues are there.
  void Finish();
  /// From Finish on; without streams: the run did not begin.
  const engine::pktgen::TrialResult& result() const { return result_; }
  /// How long frames were due, in seconds; from Settle on.
  double sending_s() const { return static_cast<double>(sending_ps_) / 1e12; }

 private:
  Generator(const Settings& settings, uint64_t hz) : settings_(settings), clock_(hz) {}

  const Settings& settings_;
  Clock clock_;
  std::unique_ptr<engine::pktgen::Traffic> traffic_;
  std::unique_ptr<engine::pktgen::Trial> trial_;
  std::vector<WorkerState> states_;
  std::atomic<uint64_t> start_cycles_{0};
  std::atomic<bool> stopping_{false};
  uint64_t sending_ps_ = 0;
  engine::pktgen::TrialResult result_;
};

}  // namespace sluice::pktgen
