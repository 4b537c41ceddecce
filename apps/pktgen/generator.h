// SPDX-License-Identifier: BSD-3-Clause
//
// Where workers and the main thread meet: the round under way, and who works on it.
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

/// Written by its worker.
struct alignas(64) WorkerPlace {
  std::atomic<const Round*> at{nullptr};      ///< The round that it works on.
  const nic::QueueCounters* queue = nullptr;  ///< Set before its first poll.
};

class Generator {
 public:
  /// `settings` outlive it; `line_bps`: 0 if the port does not tell.
  Generator(const Settings& settings, uint32_t workers, uint64_t line_bps, uint64_t hz);

  const Settings& settings() const { return settings_; }
  uint64_t line_bps() const { return line_bps_; }
  const Clock& clock() const { return clock_; }

  /// Gives workers a round to work on, which Start starts. One at a time, by one thread. Null, with
  /// one line in `error`, if the traffic cannot be. It outlives what works on it.
  std::unique_ptr<Round> Begin(const std::vector<engine::pktgen::StreamSpec>& streams,
                               uint64_t end_ps, std::string* error);
  /// Returns once all workers work on it. Workers poll.
  void Gather();
  /// Takes it from workers that were gathered; returns once none works on it.
  void End();
  /// Frames of the round that queues turned out not to have sent. Once none works on it.
  uint64_t TakenBack() const { return RefusedByQueues() - refused_before_; }

  /// How long a start, and a trial of a test, waits for the link: as long as DPDK's examples wait.
  static constexpr int kLinkPatienceS = 9;

  /// The port's link is up or down. One thread.
  void LinkSeen(bool up) {
    if (!up && link_up()) link_losses_.fetch_add(1, std::memory_order_relaxed);
    link_up_.store(up, std::memory_order_release);
  }
  /// Any thread. While the link is down, workers send nothing, and frames that become due expire.
  bool link_up() const { return link_up_.load(std::memory_order_acquire); }
  /// How often the link went down, any thread.
  uint64_t link_losses() const { return link_losses_.load(std::memory_order_relaxed); }

  /// Workers: the round to work on; null: none.
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
