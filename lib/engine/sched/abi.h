// SPDX-License-Identifier: BSD-3-Clause
//
// What a host and a scheduling agent tell each other, after ghOSt (Humphries et al., SOSP'21;
// google/ghost-userspace, ABI 91), which Wave (ASPLOS'25) carries over PCIe: messages about tasks
// and CPUs, transactions, outcomes. Each is packed into the 40 bytes of a channel's item. What is
// decoded was written by a peer: any value may come out, and is checked before it is used.
#pragma once

#include <climits>
#include <cstdint>

#include "offload/item.h"

namespace sluice::engine::sched {

/// A task's name, never used again. Above 0; the rest is special to transactions.
using Gtid = int64_t;
inline constexpr Gtid kNoTask = 0;      ///< Only takes the CPU from who has it.
inline constexpr Gtid kAgentTask = -1;  ///< Wakes the agent of that CPU; runs nothing.
inline constexpr Gtid kIdleTask = -2;   ///< The CPU idles.

using CpuId = uint16_t;
inline constexpr CpuId kMaxCpus = 64;  ///< A set of CPUs is one word.
using CpuMask = uint64_t;
constexpr CpuMask MaskOf(CpuId cpu) { return CpuMask{1} << (cpu % kMaxCpus); }

using Nanoseconds = uint64_t;

/// Changes when a layout here does; a transaction with another is refused.
inline constexpr uint16_t kAbiVersion = 1;

/// ghOSt's numbers, and one of ours.
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
  /// Everything reported before is void: every live task follows, as it is. So begins a discovery;
  /// what an agent still hears of the time before its loss must not mix with it.
  kDiscovery = 192,
};

/// Message flags.
inline constexpr uint8_t kRunnable = 1u << 0;  ///< NEW: the task can run at once.
inline constexpr uint8_t kWasLatched =
    1u << 1;  ///< PREEMPT, BLOCKED, YIELD: it never got onto the CPU.
inline constexpr uint8_t kDeferrable = 1u << 2;     ///< WAKEUP: the task does not mind to wait.
inline constexpr uint8_t kWasCurrent = 1u << 3;     ///< DEPARTED: it was on the CPU.
inline constexpr uint8_t kBoostPriority = 1u << 4;  ///< PREEMPT: by the host, not for an agent.

/// An event at the host.
struct Message {
  MessageType type = MessageType::kNop;
  CpuId cpu = 0;        ///< Where it happened; WAKEUP: where the task last ran.
  uint32_t seqnum = 0;  ///< The task's barrier behind this message (a CPU message: the agent's).
  Gtid gtid = kNoTask;
  Nanoseconds runtime = 0;  ///< Total time of the task on CPUs.
  uint32_t cpu_seqnum = 0;  ///< Of `cpu`: grows when what runs there changes.
  uint8_t flags = 0;
  uint8_t task_class = 0;  ///< QoS or SLO class; 0 is the most urgent.
  uint16_t group = 0;      ///< Of tasks that belong together (a VM's vCPUs); 0: none.
  CpuMask affinity = 0;    ///< NEW, AFFINITY_CHANGED.

  friend bool operator==(const Message&, const Message&) = default;
};

/// Transaction run flags.
inline constexpr uint16_t kNeedCpuNotIdle = 1u << 0;  ///< Tell when the CPU stops idling.
inline constexpr uint16_t kDoNotPreempt = 1u << 1;    ///< Refuse if a task is on the CPU.
inline constexpr uint16_t kRunFlags = kNeedCpuNotIdle | kDoNotPreempt;
/// Transaction commit flags. None: at the first opportunity.
inline constexpr uint16_t kCommitAtSchedule = 1u << 0;  ///< Prestaged: when the CPU next schedules.
inline constexpr uint16_t kAllowTaskOnCpu = 1u << 1;  ///< The task may be on this very CPU already.
inline constexpr uint16_t kCommitFlags = kCommitAtSchedule | kAllowTaskOnCpu;

/// A decision: this task, on this CPU, if the state still is what the agent saw.
struct Transaction {
  uint16_t version = kAbiVersion;
  CpuId cpu = 0;
  uint16_t run_flags = 0;
  uint16_t commit_flags = 0;
  Gtid gtid = kNoTask;
  uint32_t task_barrier = 0;   ///< The seqnum that the agent saw of the task.
  uint32_t agent_barrier = 0;  ///< Compared only if an agent decides for the CPU it runs on.
  /// Slots that are decided together, all or none: a bit each, this one's among them. 0: alone.
  CpuMask sync_group = 0;

  friend bool operator==(const Transaction&, const Transaction&) = default;
};

/// ghOSt's state word of a transaction: what it came to. No other value is a status.
enum class Status : int32_t {
  kComplete = INT_MIN,
  kAborted,      ///< Recalled in time.
  kTargetOnCpu,  ///< Runs on another CPU.
  kTargetStale,  ///< The task changed since the agent looked.
  kTargetNotFound,
  kTargetNotRunnable,
  kAgentStale,
  kCpuOffline,
  kCpuUnavailable,  ///< A task of a higher class of the host's has the CPU.
  kInvalidFlags,
  kInvalidTarget,
  kNotPermitted,  ///< The CPU is not in the task's affinity.
  kInvalidCpu,
  kNoAgent,
  kUnsupportedVersion,
  kPoisoned,  ///< Another one of its sync group was refused.
};
inline constexpr int32_t kStatuses = 16;

/// Flags of a task's status word.
enum StatusFlag : uint32_t {
  kStatusInUse = 1u << 0,
  kStatusOnCpu = 1u << 1,
  kStatusRunnable = 1u << 2,
  kStatusLatched = 1u << 3,
};

/// What became of a transaction, with the state as the host has it: a refusal need not be
/// followed by a question.
struct Outcome {
  Status status = Status::kComplete;
  uint32_t task_barrier = 0;  ///< Of the task named; 0 if there is none.
  uint32_t task_flags = 0;    ///< StatusFlag.
  uint32_t cpu_seqnum = 0;
  Gtid gtid = kNoTask;     ///< That the transaction named.
  Gtid current = kNoTask;  ///< Who is on the CPU now.
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
