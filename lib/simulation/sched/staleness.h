// SPDX-License-Identifier: BSD-3-Clause
//
// Measures how old the agent's knowledge of the host state is when the host rules on the agent's
// decision. A decision can become stale in the window that ends with the ruling (T1 to T3 in
// Borrill's critique of Wave). The window starts at the later of two moments: the host's last
// message about the task (an event, or the outcome of an earlier decision), or one link latency
// before the agent last saw an empty event queue. If the state changes as a Poisson process of rate
// L, independently of decisions, a fraction 1 - exp(-L W) of the decisions is stale, where W is the
// length of the window.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "engine/sched/abi.h"
#include "fabric/picoseconds.h"

namespace sluice::simulation {

using fabric::Picoseconds;

struct Staleness {
  uint64_t ruled = 0;  ///< Decisions about a task that were enforced, or rejected as stale.
  uint64_t stale = 0;
  uint64_t other = 0;       ///< Decisions rejected for other reasons, including recalls.
  Picoseconds windows = 0;  ///< Total length of the windows of all decisions in `ruled`.
  double expected = 0;      ///< Expected number of stale decisions: the sum of 1 - exp(-L W).
  double variance = 0;      ///< Variance of the number of stale decisions under the same model.
};

class StalenessLog {
 public:
  /// `rate` is the number of changes per task per second.
  explicit StalenessLog(double rate) : rate_(rate) {}

  /// Called when the host sends the agent a message that contains `barrier`, the task's current
  /// barrier.
  void Told(engine::sched::Gtid gtid, uint32_t barrier, Picoseconds now) {
    notified_[gtid].emplace(barrier, now);
  }

  /// Called when the agent commits a decision about the task. The agent knows all events up to
  /// `horizon`.
  void Committed(engine::sched::Gtid gtid, Picoseconds horizon) { horizons_[gtid] = horizon; }

  /// Called when the host has ruled on a decision.
  void Ruled(const engine::sched::Transaction& decision, const engine::sched::Outcome& outcome,
             Picoseconds now) {
    using engine::sched::Status;
    if (decision.gtid <= 0) return;
    auto& known = notified_[decision.gtid];
    const auto seen = known.find(decision.task_barrier);
    const bool stale = outcome.status == Status::kTargetStale;
    if ((outcome.status != Status::kComplete && !stale) || seen == known.end()) {
      ++totals_.other;
    } else {
      const Picoseconds window = now - std::max(seen->second, horizons_[decision.gtid]);
      const double chance = -std::expm1(-rate_ * static_cast<double>(window) * 1e-12);
      ++totals_.ruled;
      totals_.stale += stale;
      totals_.windows += window;
      totals_.expected += chance;
      totals_.variance += chance * (1 - chance);
    }
    // The outcome also contains the current barrier.
    if (outcome.task_barrier != 0) known[outcome.task_barrier] = now;
    known.erase(known.begin(), known.lower_bound(decision.task_barrier));
  }

  const Staleness& totals() const { return totals_; }

 private:
  double rate_;
  Staleness totals_;
  std::unordered_map<engine::sched::Gtid, std::map<uint32_t, Picoseconds>> notified_;
  std::unordered_map<engine::sched::Gtid, Picoseconds> horizons_;
};

}  // namespace sluice::simulation
