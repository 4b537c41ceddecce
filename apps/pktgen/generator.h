// SPDX-License-Identifier: BSD-3-Clause
//
// Shared state of the workers and the main thread: the current round, and the workers that use it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/pktgen/trial.h"
#include "nic/queue_counters.h"
#include "round.h"
#include "settings.h"

namespace sluice::pktgen {

/// Data of one worker, written by this worker only.
struct alignas(64) WorkerPlace {
  std::atomic<const Round*> at{nullptr};      ///< The round that the worker uses.
  const nic::QueueCounters* queue = nullptr;  ///< Set before the worker's first poll.
};

class Generator {
 public:
  /// `settings` must outlive the object. `line_bps`: 0 if the port does not report it.
  Generator(const Settings& settings, uint32_t workers, uint64_t line_bps, uint64_t hz);

  const Settings& settings() const { return settings_; }
  uint64_t line_bps() const { return line_bps_; }
  const Clock& clock() const { return clock_; }

  /// Assigns a round to the workers; Round::Start starts it. Only one thread may create rounds, and
  /// only one round may exist at a time. The round must exist until no worker uses it. Returns null
  /// and sets `error` if the traffic is impossible.
  std::unique_ptr<Round> Begin(const std::vector<engine::pktgen::StreamSpec>& streams,
                               uint64_t end_ps, std::string* error);
  /// Returns once all workers use the round. Workers must poll.
  void Gather();
  /// Removes the round after Gather; returns once no worker uses it.
  void End();
  /// Returns the number of the round's frames that queues accepted but later turned out not to have
  /// sent. Call it when no worker uses the round.
  uint64_t TakenBack() const { return RefusedByQueues() - refused_before_; }

  /// Maximum wait for the link at the start and before each trial; the same as in DPDK's examples.
  static constexpr int kLinkPatienceS = 9;

  /// Records the state of the port's link. Called by one thread only.
  void LinkSeen(bool up) {
    if (!up && link_up()) link_losses_.fetch_add(1, std::memory_order_relaxed);
    link_up_.store(up, std::memory_order_release);
  }
  /// Returns whether the link is up. May be called by any thread. While the link is down, workers
  /// do not send, and frames that become due expire.
  bool link_up() const { return link_up_.load(std::memory_order_acquire); }
  /// Returns how many times the link went down. May be called by any thread.
  uint64_t link_losses() const { return link_losses_.load(std::memory_order_relaxed); }

  /// Returns the current round, for workers; null if there is none.
  Round* round() const { return round_.load(std::memory_order_acquire); }
  WorkerPlace& place(uint32_t worker) { return places_[worker]; }

 private:
  void AwaitWorkersAt(const Round* round) const;
  uint64_t RefusedByQueues() const;

  const Settings& settings_;
  const uint64_t line_bps_;
  const Clock clock_;
  std::vector<WorkerPlace> places_;
  std::atomic<Round*> round_{nullptr};
  std::atomic<bool> link_up_{true};
  std::atomic<uint64_t> link_losses_{0};
  uint64_t refused_before_ = 0;
};

}  // namespace sluice::pktgen
