// SPDX-License-Identifier: BSD-3-Clause
//
// Counters and measurements of one policy in one mode.
#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "disturbance.h"
#include "engine/sched/agent.h"
#include "engine/sched/host.h"
#include "engine/workload/histogram.h"
#include "workload.h"

namespace sluice::sched {

using engine::workload::Histogram;

/// Returns the name of a result of transactions in reports.
std::string_view StatusName(engine::sched::Status status);
/// Returns the count of `status` in an array of counts indexed by Status - kComplete.
inline uint64_t CountOf(const std::array<uint64_t, engine::sched::kStatuses>& counts,
                        engine::sched::Status status) {
  return counts[static_cast<size_t>(static_cast<int64_t>(status) - INT_MIN)];
}

/// Figures of one worker.
struct Figures {
  uint64_t requests = 0;  ///< Requests that became tasks.
  uint64_t refused = 0;   ///< Requests rejected because no task or no kernel slot was free.
  uint64_t answered = 0;
  /// Number of switches to a task, including switches back to the last task on the same processor.
  uint64_t switches = 0;
  /// Number of switches that replaced an unfinished task with another task.
  uint64_t preemptions = 0;
  /// Number of times that a signal interrupted a task that did not stop at a safe point.
  uint64_t cuts = 0;
  uint64_t busy_cycles = 0;  ///< TSC cycles during which tasks ran.
  /// Latency in ns in the host, from the due time to the answer: [0] for short requests, [1] for
  /// long ones.
  std::array<Histogram, 2> latency;
  Histogram decision;  ///< Time in ns from a processor's request for a task to the task's start.

  void Add(const Figures& more);
};

/// Figures of the host side, which all workers share.
struct HostFigures {
  engine::sched::HostCounters counters;
  uint64_t overflows = 0;   ///< Events that the channel rejected because it was full.
  uint64_t faults = 0;      ///< Number of invalid values written by a peer.
  uint64_t unfinished = 0;  ///< Tasks that have not ended.
};

/// Totals of one policy in one mode.
struct Result {
  std::string policy;
  std::string mode;
  double seconds = 0;
  double busy = 0;  ///< Fraction of the time during which processors had tasks.
  Figures figures;
  HostFigures host;
  engine::sched::AgentCounters agent;
  uint64_t agents = 0;  ///< Number of agents started.
  Disturbance disturbance;

  /// Returns whether time was stolen, or there were more than 20 involuntary context switches per
  /// second (more than 20 in total if the run was shorter than a second).
  bool IsDisturbed() const;

  /// Returns the number of transactions that have a final status at the host.
  uint64_t Ruled() const;
  /// Returns the number of transactions that failed because they did not match the host's state;
  /// recalled transactions do not count.
  uint64_t Refused() const;
  nlohmann::ordered_json ToJson() const;
  /// Returns the latencies that ToJson returns, each with its histogram.
  nlohmann::ordered_json LatencyJson() const;
};

/// Returns the two header lines of the table.
std::string TableHead();
std::string TableRow(const Result& result);

/// Collects the workers' figures of a run, so that other threads can read them. Workers publish
/// them periodically.
class Board {
 public:
  explicit Board(uint32_t workers) : figures_(workers) {}

  /// Publishes a worker's figures since the start of the current policy and mode, and the host's
  /// figures if `host` is not null. If `wait` is set, waits for the lock; otherwise, returns false
  /// and changes nothing if the lock is held.
  bool Publish(uint32_t worker, const Figures& figures, const HostFigures* host, bool wait);
  /// Returns the sum of the figures last published.
  void Sum(Figures* figures, HostFigures* host) const;

  /// Stores the result of a finished policy and mode, and resets the workers' figures for the next
  /// one.
  void Finish(Result result);
  /// Resets the figures before the current policy and mode are repeated.
  void Restart();
  std::vector<Result> results() const;

 private:
  void Clear();  ///< The caller must hold mutex_.

  mutable std::mutex mutex_;
  std::vector<Figures> figures_;
  HostFigures host_;
  std::vector<Result> results_;
};

}  // namespace sluice::sched
