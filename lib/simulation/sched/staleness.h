// SPDX-License-Identifier: BSD-3-Clause
//
// Measures how old the host state known to the agent is when the host rules on the agent's
// decision. The window from that state to the ruling starts at the later of two moments: the host's
// last message about the task (an event, or the outcome of an earlier decision), or one one-way
// link delay before the agent last saw an empty event queue. A decision can become stale in this
// window (T1 to T3 of Borrill's critique of Wave). If the state changes as a Poisson process of
// rate L, independent of decisions, a fraction 1 - exp(-L W) of the decisions is stale, where W is
// the length of the window.
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
  uint64_t ruled = 0;  ///< Decisions about a task, enforced or rejected as stale.
  uint64_t stale = 0;
  uint64_t other = 0;       ///< Rejected for other reasons, including recalls.
  Picoseconds windows = 0;  ///< Sum of the windows of all decisions in `ruled`.
  double expected = 0;      ///< Expected number of stale decisions: the sum of 1 - exp(-L W).
  double variance = 0;      ///< Variance of the number of stale decisions under that probability.
};

class StalenessLog {
 public:
  /// `rate`: changes per task and second.
  explicit StalenessLog(double rate) : rate_(rate) {}

  /// Called when the host sends a message with `barrier`, the task's current barrier, to the agent.
  void Told(engine::sched::Gtid gtid, uint32_t barrier, Picoseconds now) {
    notified_[gtid].emplace(barrier, now);
  }

  /// Called when the agent commits a decision about the task. The agent knows all events until
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
    // The outcome contains the current barrier too.
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
