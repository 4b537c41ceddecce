// SPDX-License-Identifier: BSD-3-Clause
//
// One trial in progress: its traffic, the workers' shared state, its start and its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/pktgen/trial.h"
#include "settings.h"

namespace sluice::pktgen {

/// Converts TSC cycles to picoseconds.
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
  uint64_t ps_per_cycle_;  ///< Fixed point, scaled by 2^kFraction.
};

/// State of one worker, which the main thread reads.
struct alignas(64) WorkerState {
  std::atomic<bool> over{false};  ///< The worker will not send any more frames.
  /// Sum of the pauses between two polls that were longer than kPausePs. During such a pause, the
  /// worker's core was not available.
  std::atomic<uint64_t> paused_ps{0};
  static constexpr uint64_t kPausePs = 500'000'000;
};

/// One thread creates, starts, settles and finishes a round; in the meantime, workers send and
/// check frames.
class Round {
 public:
  /// `settings` must outlive the object. No frame is due at or after `options.end_ps`. Returns null
  /// and sets `error` if the traffic is impossible.
  static std::unique_ptr<Round> Make(const Settings& settings,
                                     const std::vector<engine::pktgen::StreamSpec>& streams,
                                     const engine::pktgen::TrafficOptions& options,
                                     const Clock& clock, std::string* error);

  engine::pktgen::Trial& trial() { return *trial_; }
  const engine::pktgen::Traffic& traffic() const { return *traffic_; }
  WorkerState& state(uint32_t worker) { return states_[worker]; }

  /// Sets the time at which the first frames are due. Call it once.
  void Start(uint64_t now_cycles) { start_cycles_.store(now_cycles, std::memory_order_release); }
  /// Returns 0 before Start.
  uint64_t start_cycles() const { return start_cycles_.load(std::memory_order_acquire); }
  /// Returns the time since the start at which sending stops, or kNever while it continues. A frame
  /// that was due before this time but was not sent counts as unsent.
  uint64_t stop_ps() const { return stop_ps_.load(std::memory_order_relaxed); }

  /// Returns whether all workers have ended, or the traffic's end time passed more than
  /// trial.patience_ps ago.
  bool Over(uint64_t now_cycles) const;
  /// Stops sending. Waits until all workers have stopped, and then until no frame has arrived for
  /// 20 ms or, if frames are missing, for Settings::settle_s (at least 20 ms). Workers must poll.
  void Settle();
  /// Returns the result. Call it when no worker uses the round. `taken_back`: number of frames that
  /// queues accepted but turned out not to have sent.
  engine::pktgen::TrialResult Finish(uint64_t taken_back) const {
    return trial_->Result(true, taken_back);
  }
  /// Returns the mean pause time per worker.
  uint64_t paused_ps() const;
  /// Returns the length in seconds of the period in which frames were due, including the gap after
  /// the last frame. Valid after Settle.
  double sending_s() const { return static_cast<double>(stop_ps()) / 1e12; }

 private:
  Round(const Settings& settings, const Clock& clock) : settings_(settings), clock_(clock) {}
  /// Returns whether all workers have stopped sending.
  bool WorkersAreOver() const;

  const Settings& settings_;
  const Clock clock_;
  std::unique_ptr<engine::pktgen::Traffic> traffic_;
  std::unique_ptr<engine::pktgen::Trial> trial_;
  std::vector<WorkerState> states_;
  std::atomic<uint64_t> start_cycles_{0};
  std::atomic<uint64_t> stop_ps_{engine::pktgen::kNever};
};

}  // namespace sluice::pktgen
