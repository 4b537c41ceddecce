// SPDX-License-Identifier: BSD-3-Clause
//
// Every policy, by name: whoever offers them needs no list of its own.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "engine/sched/policies/fair_share.h"
#include "engine/sched/policies/fifo_central.h"
#include "engine/sched/policies/fifo_per_cpu.h"
#include "engine/sched/policies/join_shortest_queue.h"
#include "engine/sched/policies/multi_queue.h"
#include "engine/sched/policies/shinjuku.h"

namespace sluice::engine::sched {

inline constexpr std::array kPolicyNames{FifoPerCpu::kName, FifoCentral::kName,
                                         JoinShortestQueue::kName, Shinjuku::kName,
                                         MultiQueue::kName, FairShare::kName};

struct PolicyOptions {
  CpuId cpus = 1;
  Nanoseconds slice = 0;  ///< Slice or quantum, where there is one. 0: the policy's own.
  std::array<Nanoseconds, kTaskClasses> slo = MultiQueueOptions{}.slo;
};

/// Calls visit(policy) with the one of that name. False: there is none.
template <typename V>
bool VisitPolicy(std::string_view name, const PolicyOptions& options, V&& visit) {
  const auto slice = [&](Nanoseconds own) { return options.slice != 0 ? options.slice : own; };
  if (name == FifoPerCpu::kName) return visit(FifoPerCpu(options.cpus)), true;
  if (name == FifoCentral::kName) return visit(FifoCentral()), true;
  if (name == JoinShortestQueue::kName) return visit(JoinShortestQueue(options.cpus)), true;
  if (name == Shinjuku::kName) return visit(Shinjuku(slice(Shinjuku::kSlice))), true;
  if (name == MultiQueue::kName) {
    return visit(MultiQueue({.slo = options.slo, .quantum = slice(MultiQueueOptions{}.quantum)})),
           true;
  }
  if (name == FairShare::kName) {
    return visit(FairShare(options.cpus, slice(FairShare::kQuantum))), true;
  }
  return false;
}

}  // namespace sluice::engine::sched
