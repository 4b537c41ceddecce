// SPDX-License-Identifier: BSD-3-Clause
//
// Interface between a host and a scheduling agent, after ghOSt (Humphries et al., SOSP'21;
// google/ghost-userspace, ABI 91), which Wave (ASPLOS'25) carries over PCIe: messages about tasks
// and CPUs, transactions, and outcomes. Each is packed into the 40 bytes of a channel item. Decoded
// values come from an untrusted peer and may be arbitrary; they must be checked before use.
#pragma once

#include <climits>
#include <cstdint>

#include "offload/item.h"

namespace sluice::engine::sched {

/// Identifier of a task; never reused. Tasks have positive values; the others are special targets
/// of transactions.
using Gtid = int64_t;
inline constexpr Gtid kNoTask = 0;      ///< Removes the current and the latched task of the CPU.
inline constexpr Gtid kAgentTask = -1;  ///< Wakes the CPU's agent without running a task.
inline constexpr Gtid kIdleTask = -2;   ///< Leaves the CPU idle; same effect as kNoTask.

using CpuId = uint16_t;
inline constexpr CpuId kMaxCpus = 64;  ///< A set of CPUs fits into one word.
using CpuMask = uint64_t;
constexpr CpuMask MaskOf(CpuId cpu) { return CpuMask{1} << (cpu % kMaxCpus); }

using Nanoseconds = uint64_t;

/// Incremented when a layout in this file changes. Transactions with another version are refused.
inline constexpr uint16_t kAbiVersion = 1;

/// Message types: ghOSt's numbers, and kDiscovery, which this project adds.
enum class MessageType : uint16_t {
  kNop = 0,
  kTaskDead = 64,
  kTaskBlocked,
  kTaskWakeup,
  kTaskNew,
  kTaskPreempt,
  kTaskYield,
  kTaskDeparted,
  kTaskSwitchto,
  kTaskAffinityChanged,
  kTaskOnCpu,
  kTaskPriorityChanged,
  kTaskLatchFailure,
  kCpuTick = 128,
  kCpuTimerExpired,
  kCpuNotIdle,
  kCpuAvailable,
  kCpuBusy,
  kCpuAgentBlocked,
  kCpuAgentWakeup,
  /// Starts a discovery: all earlier messages are invalid, and the state of every live task
  /// follows. Messages that the host sent before it lost the agent may still arrive first; they
  /// must not be combined with the discovery.
  kDiscovery = 192,
};

// Message flags.

inline constexpr uint8_t kRunnable = 1u << 0;  ///< NEW: the task is runnable.
/// PREEMPT, BLOCKED, YIELD: the task was latched to the CPU but had not started on it. ON_CPU: the
/// task is latched to the CPU but not on it yet.
inline constexpr uint8_t kWasLatched = 1u << 1;
inline constexpr uint8_t kDeferrable = 1u << 2;  ///< WAKEUP: the task tolerates delay.
inline constexpr uint8_t kWasCurrent = 1u << 3;  ///< DEPARTED: the task was on the CPU.
/// PREEMPT: the host preempted the task for a reason unrelated to agents.
inline constexpr uint8_t kBoostPriority = 1u << 4;

/// An event at the host.
struct Message {
  MessageType type = MessageType::kNop;
  CpuId cpu = 0;  ///< CPU of the event; WAKEUP: where the task last ran.
  /// The task's barrier after this message; in a CPU message, the agent's barrier.
  uint32_t seqnum = 0;
  Gtid gtid = kNoTask;
  Nanoseconds runtime = 0;  ///< Total CPU time of the task.
  uint32_t cpu_seqnum = 0;  ///< Incremented when the task on `cpu` changes.
  uint8_t flags = 0;
  uint8_t task_class = 0;  ///< QoS or SLO class; 0 is the most urgent.
  uint16_t group = 0;      ///< Group of related tasks (a VM's vCPUs); 0: none.
  CpuMask affinity = 0;    ///< For NEW and AFFINITY_CHANGED.

  friend bool operator==(const Message&, const Message&) = default;
};

// Run flags of transactions.

/// Send CPU_NOT_IDLE when the CPU stops idling.
inline constexpr uint16_t kNeedCpuNotIdle = 1u << 0;
inline constexpr uint16_t kDoNotPreempt = 1u << 1;  ///< Refuse if another task is on the CPU.
inline constexpr uint16_t kRunFlags = kNeedCpuNotIdle | kDoNotPreempt;
// Commit flags of transactions. Without flags, a transaction is enforced at the first opportunity.

/// Prestaged: enforce when the CPU next schedules.
inline constexpr uint16_t kCommitAtSchedule = 1u << 0;
inline constexpr uint16_t kAllowTaskOnCpu = 1u << 1;  ///< The task may already be on this CPU.
inline constexpr uint16_t kCommitFlags = kCommitAtSchedule | kAllowTaskOnCpu;

/// A decision to run a task on a CPU, valid only if the state is still the one that the agent knew.
struct Transaction {
  uint16_t version = kAbiVersion;
  CpuId cpu = 0;
  uint16_t run_flags = 0;
  uint16_t commit_flags = 0;
  Gtid gtid = kNoTask;
  uint32_t task_barrier = 0;   ///< The task's seqnum, as known to the agent.
  uint32_t agent_barrier = 0;  ///< Compared only if an agent decides for the CPU on which it runs.
  /// Mask of the slots whose decisions are enforced all together or not at all; includes the slot
  /// of this transaction. 0: this transaction alone.
  CpuMask sync_group = 0;

  friend bool operator==(const Transaction&, const Transaction&) = default;
};

/// Result of a transaction: ghOSt's state word. Other values are invalid.
enum class Status : int32_t {
  kComplete = INT_MIN,
  kAborted,      ///< Recalled before it was enforced.
  kTargetOnCpu,  ///< The task is on a CPU or latched to one; see kAllowTaskOnCpu.
  kTargetStale,  ///< The task has changed since the agent's last message about it.
  kTargetNotFound,
  kTargetNotRunnable,
  kAgentStale,
  kCpuOffline,
  /// A higher scheduling class of the host uses the CPU, or kDoNotPreempt applies.
  kCpuUnavailable,
  kInvalidFlags,
  kInvalidTarget,
  kNotPermitted,  ///< The task's affinity excludes the CPU.
  kInvalidCpu,
  kNoAgent,
  kUnsupportedVersion,
  kPoisoned,  ///< Its sync group was refused because of another slot.
};
inline constexpr int32_t kStatuses = 16;

/// Flags of a task's status word.
enum StatusFlag : uint32_t {
  kStatusInUse = 1u << 0,
  kStatusOnCpu = 1u << 1,
  kStatusRunnable = 1u << 2,
  kStatusLatched = 1u << 3,
};

/// Result of a transaction, with the host's current state, so that an agent need not request the
/// state after a refusal.
struct Outcome {
  Status status = Status::kComplete;
  uint32_t task_barrier = 0;  ///< Barrier of the named task; 0 if it does not exist.
  uint32_t task_flags = 0;    ///< StatusFlag bits of the named task.
  uint32_t cpu_seqnum = 0;
  Gtid gtid = kNoTask;     ///< Task named by the transaction.
  Gtid current = kNoTask;  ///< Current task of the CPU.
  Nanoseconds time = 0;    ///< The host's clock.

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

constexpr offload::Item Encode(const Message& m) {
  return {
      {uint64_t{static_cast<uint16_t>(m.type)} | uint64_t{m.cpu} << 16 | uint64_t{m.seqnum} << 32,
       static_cast<uint64_t>(m.gtid), m.runtime,
       m.cpu_seqnum | uint64_t{m.flags} << 32 | uint64_t{m.task_class} << 40 |
           uint64_t{m.group} << 48,
       m.affinity}};
}
constexpr Message DecodeMessage(const offload::Item& item) {
  const auto& w = item.word;
  return {.type = static_cast<MessageType>(w[0]),
          .cpu = static_cast<CpuId>(w[0] >> 16),
          .seqnum = static_cast<uint32_t>(w[0] >> 32),
          .gtid = static_cast<Gtid>(w[1]),
          .runtime = w[2],
          .cpu_seqnum = static_cast<uint32_t>(w[3]),
          .flags = static_cast<uint8_t>(w[3] >> 32),
          .task_class = static_cast<uint8_t>(w[3] >> 40),
          .group = static_cast<uint16_t>(w[3] >> 48),
          .affinity = w[4]};
}

constexpr offload::Item Encode(const Transaction& t) {
  return {{t.version | uint64_t{t.cpu} << 16 | uint64_t{t.run_flags} << 32 |
               uint64_t{t.commit_flags} << 48,
           static_cast<uint64_t>(t.gtid), t.task_barrier | uint64_t{t.agent_barrier} << 32,
           t.sync_group, 0}};
}
constexpr Transaction DecodeTransaction(const offload::Item& item) {
  const auto& w = item.word;
  return {.version = static_cast<uint16_t>(w[0]),
          .cpu = static_cast<CpuId>(w[0] >> 16),
          .run_flags = static_cast<uint16_t>(w[0] >> 32),
          .commit_flags = static_cast<uint16_t>(w[0] >> 48),
          .gtid = static_cast<Gtid>(w[1]),
          .task_barrier = static_cast<uint32_t>(w[2]),
          .agent_barrier = static_cast<uint32_t>(w[2] >> 32),
          .sync_group = w[3]};
}

constexpr offload::Item Encode(const Outcome& o) {
  return {{static_cast<uint32_t>(o.status) | uint64_t{o.task_barrier} << 32,
           o.task_flags | uint64_t{o.cpu_seqnum} << 32, static_cast<uint64_t>(o.gtid),
           static_cast<uint64_t>(o.current), o.time}};
}
constexpr Outcome DecodeOutcome(const offload::Item& item) {
  const auto& w = item.word;
  return {.status = static_cast<Status>(static_cast<int32_t>(w[0])),
          .task_barrier = static_cast<uint32_t>(w[0] >> 32),
          .task_flags = static_cast<uint32_t>(w[1]),
          .cpu_seqnum = static_cast<uint32_t>(w[1] >> 32),
          .gtid = static_cast<Gtid>(w[2]),
          .current = static_cast<Gtid>(w[3]),
          .time = w[4]};
}

}  // namespace sluice::engine::sched
