// SPDX-License-Identifier: BSD-3-Clause
//
// One trial under way: its traffic, what workers share, when it began and ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/pktgen/trial.h"
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

/// What one worker tells the main thread.
struct alignas(64) WorkerState {
  std::atomic<bool> over{false};  ///< The worker sends nothing any more.
  /// Time that passed between polls at least kPausePs apart: the host took the worker's core away.
  std::atomic<uint64_t> paused_ps{0};
  static constexpr uint64_t kPausePs = 500'000'000;
};

/// Made by one thread, which starts, settles and finishes it; workers send and check meanwhile.
class Round {
 public:
  /// `settings` outlive it. Nothing is due from `options.end_ps` on. Null, with one line in
  /// `error`, if the traffic cannot be.
  static std::unique_ptr<Round> Make(const Settings& settings,
                                     const std::vector<engine::pktgen::StreamSpec>& streams,
                                     const engine::pktgen::TrafficOptions& options,
                                     const Clock& clock, std::string* error);

  engine::pktgen::Trial& trial() { return *trial_; }
  const engine::pktgen::Traffic& traffic() const { return *traffic_; }
  WorkerState& state(uint32_t worker) { return states_[worker]; }

  /// The first frames are due now; once.
  void Start(uint64_t now_cycles) { start_cycles_.store(now_cycles, std::memory_order_release); }
  /// 0: not yet.
  uint64_t start_cycles() const { return start_cycles_.load(std::memory_order_acquire); }
  /// Returns the time since the start at which sending stops, or kNever while it goes on. A frame
  /// that was due before this time and has not left counts as unsent.
  uint64_t stop_ps() const { return stop_ps_.load(std::memory_order_relaxed); }

  /// Whether everything that will be sent was.
  bool Over(uint64_t now_cycles) const;
  /// Stops sending, and waits until all workers know and every frame is back, or none has come for
  /// long enough. Workers poll.
  void Settle();
  /// What was found, once no worker works on it any more. `taken_back`: frames that queues turned
  /// out not to have sent.
  engine::pktgen::TrialResult Finish(uint64_t taken_back) const {
    return trial_->Result(true, taken_back);
  }
  /// The mean of all workers' pauses.
  uint64_t paused_ps() const;
  /// How long frames were due, in seconds, a gap for each of them; from Settle on.
  double sending_s() const { return static_cast<double>(stop_ps()) / 1e12; }

 private:
  Round(const Settings& settings, const Clock& clock) : settings_(settings), clock_(clock) {}
  /// Whether no worker sends any more.
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
