// SPDX-License-Identifier: BSD-3-Clause
//
// How old the state is on which a decision rests when the host rules on it: from the last moment
// of the host of which the agent knew until the ruling. That moment is when the host last told it
// about the task (an event, or the outcome of an earlier decision), or one way before the agent
// last saw that no event waits, whichever is later. It is the window in which a decision can
// become stale (T1 to T3 of Borrill's critique of Wave). If the state changes as a Poisson process
// of rate L, independent of decisions, a share 1 - exp(-L W) of them is stale.
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
  uint64_t ruled = 0;  ///< Decisions about tasks that were enforced, or refused as stale.
  uint64_t stale = 0;
  uint64_t other = 0;       ///< Refused for other reasons, a recall among them.
  Picoseconds windows = 0;  ///< Of those ruled, all together.
  double expected = 0;      ///< Sum of 1 - exp(-L W).
  double variance = 0;      ///< Of the number of stale ones, if each is so by that chance.
};

class StalenessLog {
 public:
  /// `rate`: changes of a task per second.
  explicit StalenessLog(double rate) : rate_(rate) {}

  /// The task's barrier is this, from now on or for longer, and the host tells the agent.
  void Told(engine::sched::Gtid gtid, uint32_t barrier, Picoseconds now) {
    told_[gtid].emplace(barrier, now);
  }

  /// The agent commits a decision about the task, and knows all that happened until `horizon`.
  void Committed(engine::sched::Gtid gtid, Picoseconds horizon) { horizons_[gtid] = horizon; }

  /// The host answered a decision.
  void Ruled(const engine::sched::Transaction& decision, const engine::sched::Outcome& outcome,
             Picoseconds now) {
    using engine::sched::Status;
    if (decision.gtid <= 0) return;
    auto& known = told_[decision.gtid];
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
    // The outcome tells the present barrier again.
    if (outcome.task_barrier != 0) known[outcome.task_barrier] = now;
    known.erase(known.begin(), known.lower_bound(decision.task_barrier));
  }

  const Staleness& totals() const { return totals_; }

 private:
  double rate_;
  Staleness totals_;
  std::unordered_map<engine::sched::Gtid, std::map<uint32_t, Picoseconds>> told_;
  std::unordered_map<engine::sched::Gtid, Picoseconds> horizons_;
};

}  // namespace sluice::simulation
