// SPDX-License-Identifier: BSD-3-Clause
//
// The threads of this machine's kernel that an agent schedules. The kernel runs a scheduler of
// sched_ext (threads.bpf.c), which enforces decisions, for threads of the class SCHED_EXT
// (thread_choice.h). All other threads stay with the kernel's own scheduler. If this object or the
// process ends in any way, the kernel's own scheduler takes over all threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/sched/abi.h"
#include "offload/item.h"
#include "sched_ext/layout.h"

namespace sluice::sched_ext {

using engine::sched::CpuId;
using engine::sched::Message;
using engine::sched::Nanoseconds;
using engine::sched::Outcome;
using engine::sched::Transaction;

/// The kernel's identifier of a thread (gettid(2)).
using ThreadId = uint32_t;
/// Returns the thread that an agent calls `gtid`. The kernel reuses its own identifiers, so the
/// thread may be another one now.
constexpr ThreadId ThreadOf(engine::sched::Gtid gtid) {
  return static_cast<ThreadId>(gtid & ((1 << kThreadIdBits) - 1));
}

struct ThreadKernelOptions {
  CpuId cpus = 1;  ///< Agents decide for CPUs 0 … cpus - 1; at most kMaxCpus.
  /// Maximum number of managed threads. The kernel schedules further threads of the class.
  uint32_t max_threads = 8192;
  /// A thread that waits longer than this for a decision is scheduled first come, first served. If
  /// it waits although a CPU runs no managed thread, the agent is considered dead. At least 1 ms.
  Nanoseconds fallback = 20'000'000;
  /// Decisions are checked but refused (kCpuUnavailable), and threads are scheduled first come,
  /// first served.
  bool dry_run = false;
};

/// The kernel's answer to a decision.
struct Verdict {
  Outcome outcome;
  /// Time between the thread's last change of state, which the agent must know, and the decision.
  Nanoseconds age = 0;
};

/// The messages that describe a thread to a new agent: NEW, and ON_CPU if the thread is on a CPU or
/// latched to one.
struct Description {
  Message created;
  std::optional<Message> place;
};

struct ThreadCounters {
  uint64_t threads = 0;  ///< Threads that are managed now.
  uint64_t events = 0;
  uint64_t events_lost = 0;    ///< Events for which the kernel had no space.
  uint64_t fallbacks = 0;      ///< Overdue threads that the kernel scheduled.
  uint64_t local_choices = 0;  ///< Threads that the kernel scheduled because there was no agent.
  uint64_t abandoned = 0;      ///< Agents that the kernel gave up.
  uint64_t unmanaged = 0;      ///< Times that a thread beyond max_threads became runnable.
};

/// Used by one thread.
class ThreadKernel {
 public:
  virtual ~ThreadKernel() = default;

  /// Returns a descriptor that is readable when events can be received.
  virtual int event_fd() const = 0;
  /// Appends all events since the last call to `events`, oldest first. They are messages.
  virtual void Receive(std::vector<offload::Item>& events) = 0;

  /// Checks a decision with the codes of engine::sched::Kernel::Check, and enforces it if it is
  /// valid, in one step. Only named threads can be chosen, and decisions take effect at once:
  /// other targets, sync groups and prestaged decisions are refused.
  virtual Verdict Decide(CpuId cpu, const Transaction& decision) = 0;
  /// Returns the state that reports a decision as recalled.
  virtual Outcome Recall(CpuId cpu, const Transaction& decision) = 0;

  /// Accepts decisions from now on. Without an agent (the initial state, and after the kernel gave
  /// up an agent), threads are scheduled first come, first served.
  virtual void Attach() = 0;
  virtual bool attached() const = 0;
  virtual std::vector<ThreadId> Threads() const = 0;
  /// Describes a managed thread; empty if it is not managed.
  virtual std::optional<Description> Describe(ThreadId id) const = 0;

  virtual ThreadCounters counters() const = 0;
  /// Returns the reason for which the kernel ended the scheduler; empty while it runs.
  virtual std::string end_reason() const = 0;
};

/// Starts the scheduler. Returns null, and one line in `error` that names the fix, if the kernel or
/// this build lacks sched_ext, if the caller lacks permission, or if another scheduler runs.
std::unique_ptr<ThreadKernel> StartThreadKernel(const ThreadKernelOptions& options,
                                                std::string* error);

}  // namespace sluice::sched_ext
