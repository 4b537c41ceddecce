// SPDX-License-Identifier: BSD-3-Clause
//
// What is counted and measured while one policy decides in one mode.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "disturbance.h"
#include "engine/sched/agent.h"
#include "engine/sched/host.h"
#include "engine/workload/histogram.h"
#include "workload.h"

namespace sluice::sched {

using engine::workload::Histogram;

/// By one worker.
struct Figures {
  uint64_t requests = 0;  ///< That became tasks.
  uint64_t refused = 0;   ///< That did not: every task was in use.
  uint64_t answered = 0;
  uint64_t switches = 0;     ///< A task got onto this processor that was not on it before.
  uint64_t preemptions = 0;  ///< Another took its place by decision, whether it paused or was cut.
  uint64_t cuts = 0;         ///< It was taken off by a signal.
  uint64_t busy_cycles = 0;  ///< TSC, in which tasks ran.
  std::array<Histogram, 2> latency;  ///< Short and long: from due to answered, in the host. ns.
  Histogram decision;                ///< From a processor's wish for a task to its start. ns.

  void Add(const Figures& more);
};

/// By the host's end, which the workers share.
struct HostFigures {
  engine::sched::HostCounters counters;
  uint64_t overflows = 0;   ///< Events that found no room in the channel.
  uint64_t faults = 0;      ///< Times that a peer wrote what cannot be.
  uint64_t unfinished = 0;  ///< Tasks that have not ended.
};

/// Totals of one policy and mode.
struct Result {
  std::string policy;
  std::string mode;
  double seconds = 0;
  double busy = 0;  ///< Share of it in which processors had tasks.
  Figures figures;
  HostFigures host;
  engine::sched::AgentCounters agent;
  uint64_t agents = 0;  ///< That there were.
  Disturbance disturbance;

  /// Time was stolen, or a processor was left more than 20 times a second.
  bool IsDisturbed() const;

  /// Transactions that came to an end at the host.
  uint64_t Ruled() const;
  /// Of those: they did not fit the state that the host had. Recalled ones are not among them.
  uint64_t Refused() const;
  nlohmann::ordered_json ToJson() const;
  /// The latencies of ToJson, each with its histogram.
  nlohmann::ordered_json LatencyJson() const;
};

/// Two lines above rows.
std::string TableHead();
std::string TableRow(const Result& result);

/// Where the workers of a run lay down what they counted, now and then, and others read it.
class Board {
 public:
  explicit Board(uint32_t workers) : figures_(workers) {}

  /// A worker's figures since the present policy and mode began, and the host's, if it has them.
  /// `wait` for others; else false says that somebody reads, and nothing was done.
  bool Publish(uint32_t worker, const Figures& figures, const HostFigures* host, bool wait);
  /// The sum as it was last laid down.
  void Sum(Figures* figures, HostFigures* host) const;

  /// A policy and mode that is over; its workers begin again.
  void Finish(Result result);
  /// The present one begins once more.
  void Restart();
  std::vector<Result> results() const;

 private:
  void Clear();  ///< Under the lock.

  mutable std::mutex mutex_;
  std::vector<Figures> figures_;
  HostFigures host_;
  std::vector<Result> results_;
};

}  // namespace sluice::sched
