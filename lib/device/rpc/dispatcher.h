// SPDX-License-Identifier: BSD-3-Clause
//
// Assigns calls to cores: the NIC's half of a scheduler, after Lauberhorn ("The NIC should be part
// of the OS"). The device sees from the loads where each core is waiting: a core loads the line of
// its kernel endpoint, or a line of the process to which the kernel has switched it. A call goes to
// a core that is waiting in the call's process. Otherwise the process gets a core through a kernel
// endpoint (scaling up), or the call waits in the process's queue. If other processes want cores, a
// process without calls gets the answer YIELDNOW; a core that no process needs gets the answer
// RETIRE (scaling down).
//
// A call may be suspended: its function made another call instead of returning a result. Its core
// is then free. When the other call is answered, the device calls Resume, and the suspended call is
// delivered to its process again, before calls that have not begun.
//
// The dispatcher is a state machine without a clock, memory or threads: it receives events and
// returns actions.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/counter_rows.h"
#include "device/device.h"
#include "device/rpc/call_queue.h"
#include "device/rpc/placement.h"

namespace sluice::device::rpc {

/// All times are in nanoseconds.
struct DispatcherConfig {
  uint32_t cores = 1;                ///< 1 … kMaxCores.
  uint32_t queue_capacity = 32;      ///< Capacity of each process's queue; at least 1.
  uint32_t suspended_capacity = 32;  ///< Maximum number of suspended calls per process; at least 1.
  /// Maximum time from a switch to the process's first load. A process that keeps returning its
  /// core without having issued a load is killed after this time.
  uint64_t switch_bound = 1'000'000'000;
  uint64_t leave_bound = 1'000'000'000;  ///< Maximum time from YIELDNOW to the kernel's load.
  uint64_t preempt_bound = 100'000'000;  ///< Maximum time from an interrupt to the end of the
                                         ///< handler.
  /// Interval at which the interrupt to a running handler is repeated. Repetition is needed because
  /// an interrupt that arrives before the handler blocks has no effect.
  uint64_t interrupt_every = 1'000'000;
  /// Maximum time from a call's delivery to its end; 0: no limit.
  uint64_t handler_bound = 0;
  uint64_t nested_bound = 1'000'000'000;  ///< Maximum time from a call's suspension to Resume.
  /// Idle time after which a process loses a core, and after which the core is retired; 0: never.
  uint64_t retire_after = 0;
  /// Minimum number of cores that are neither reclaimed nor retired for being idle.
  uint32_t kept_cores = 1;
};

/// Returns the maximum number of a process's calls that have arrived but not ended: waiting calls,
/// suspended or resumed calls, and one call per core that is running or continues at once because
/// too many are suspended.
constexpr uint32_t MaxCalls(const DispatcherConfig& config) {
  return std::max(config.queue_capacity, 1u) + std::max(config.suspended_capacity, 1u) +
         std::clamp(config.cores, 1u, kMaxCores);
}

/// One action for the device to perform. `core`, `process` and `call` are set only where the action
/// refers to them. Every call that has arrived ends in exactly one of the last five actions. A call
/// that is executed is delivered to its process once from the beginning, and once more for each
/// suspension that ends.
struct Action {
  enum class Kind : uint8_t {
    kRequest,    ///< Answer the load of the user endpoint with `call`.
    kSwitch,     ///< Answer the load of the kernel endpoint: run `process`.
    kYieldNow,   ///< Answer the load of the user endpoint: return to the kernel.
    kRetire,     ///< Answer the load of the kernel endpoint: the core is not needed.
    kInterrupt,  ///< Interrupt the core; YIELDNOW follows once the handler has ended.
    kKill,       ///< The process exceeded a limit: the kernel must kill it and report Gone.
    kWake,       ///< Interrupt a retired core, so that its kernel loads again.
    kSuspended,  ///< `call` is waiting for the nested call in the line; Resume or a time-out
                 ///< follows.
    kTooMany,    ///< Like kSuspended, but `call` continues at once, because too many are suspended.
    kTimedOut,   ///< `call` waited too long and continues without an answer.
    kAnswered,   ///< `call` was executed; its reply is in the line.
    kQueueFull,  ///< `call` was not executed: the queue is full.
    kNoProcess,  ///< `call` was not executed: the process is unknown.
    kRemoved,    ///< `call` was not executed: its process was removed while it waited.
    kLost,       ///< `call` was begun, but its process died or lost its core.
  };
  Kind kind;
  CoreId core = 0;
  ProcessId process = 0;
  CallId call = 0;

  friend bool operator==(const Action&, const Action&) = default;
};

/// Counters, named in Dispatcher::kCounterNames.
enum class DispatchCounter : uint8_t {
  kArrived,
  kAnswered,
  kQueueFull,
  kNoProcess,
  kRemoved,
  kLost,
  kStrayLoads,  ///< Loads by a process that does not have the core, or from an unknown core.
  kSwitches,
  kYields,
  kRetires,
  kInterrupts,
  kKills,
  kWakes,
  kSuspended,
  kTooMany,
  kTimedOut,
};

/// Content of the line when the process issues its load: the call's reply, or a call to make first.
enum class Done : uint8_t { kReply, kCall };

/// The state machine that assigns calls to cores. Used by one thread. Each event returns the
/// actions to perform, in order; the span is valid until the next event. Allocates only in the
/// constructor and AddProcess. Times must never decrease.
class Dispatcher {
 public:
  using Actions = std::span<const Action>;

  /// State of a core as far as the device knows.
  enum class CoreState : uint8_t {
    kAway,       ///< The kernel uses the core.
    kRetired,    ///< The kernel uses the core, but the device may request it.
    kWaking,     ///< The device has requested the core.
    kFreed,      ///< The core's process is gone; the kernel's load will follow.
    kKernel,     ///< The core is waiting at its kernel endpoint.
    kSwitching,  ///< The core is being switched to its process.
    kRunning,    ///< The core is running a handler.
    kWaiting,    ///< The core is waiting at its process's endpoint.
    kLeaving,    ///< The core is returning to the kernel.
  };

  static constexpr uint32_t kCounters = 16;
  static constexpr auto kCounterNames = base::Names<DispatchCounter, kCounters>(
      {{DispatchCounter::kArrived, "rpc_arrived"},
       {DispatchCounter::kAnswered, "rpc_answered"},
       {DispatchCounter::kQueueFull, "rpc_drop_queue_full"},
       {DispatchCounter::kNoProcess, "rpc_drop_no_process"},
       {DispatchCounter::kRemoved, "rpc_drop_removed"},
       {DispatchCounter::kLost, "rpc_lost"},
       {DispatchCounter::kStrayLoads, "rpc_stray_loads"},
       {DispatchCounter::kSwitches, "rpc_switches"},
       {DispatchCounter::kYields, "rpc_yields"},
       {DispatchCounter::kRetires, "rpc_retires"},
       {DispatchCounter::kInterrupts, "rpc_interrupts"},
       {DispatchCounter::kKills, "rpc_kills"},
       {DispatchCounter::kWakes, "rpc_wakes"},
       {DispatchCounter::kSuspended, "rpc_nested"},
       {DispatchCounter::kTooMany, "rpc_nested_too_many"},
       {DispatchCounter::kTimedOut, "rpc_nested_timed_out"}});

  /// `placement` must outlive the dispatcher.
  Dispatcher(const DispatcherConfig& config, Placement& placement);

  // Control path: processes.

  /// Adds a process. The process gets no core before Ready, and after that at most `max_cores` at a
  /// time; calls that arrive before Ready wait. Returns false if the number is out of range or in
  /// use, or `max_cores` is 0.
  bool AddProcess(ProcessId process, uint32_t max_cores);
  /// Reports that the process has started and may be switched to.
  Actions Ready(ProcessId process, uint64_t now_ns);
  /// Reports that the process has died or was killed. Its running and suspended calls are lost; its
  /// waiting calls are kept for its next incarnation.
  Actions Gone(ProcessId process, uint64_t now_ns);
  /// Like Gone, but the process will not return.
  Actions RemoveProcess(ProcessId process, uint64_t now_ns);

  // Data path: events.

  /// Reports that a call was decoded. The dispatcher must not already have a call with the number
  /// `call`.
  Actions Arrive(ProcessId process, CallId call, uint64_t now_ns);
  /// Reports that a core has loaded from its kernel endpoint: its work for a process has ended.
  Actions KernelLoads(CoreId core, uint64_t now_ns);
  /// Reports that a core has loaded from `process`'s endpoint: its previous call is answered or
  /// suspended. Repeated loads while the core waits (after TRYAGAIN) have no effect.
  Actions UserLoads(CoreId core, ProcessId process, uint64_t now_ns, Done done = Done::kReply);
  /// Reports that the result for which a suspended call is waiting is available. Has no effect if
  /// the call is not suspended.
  Actions Resume(ProcessId process, CallId call, uint64_t now_ns);
  /// Reports that the kernel wants the core for itself. The core gets RETIRE as soon as possible.
  Actions Reclaim(CoreId core, uint64_t now_ns);
  /// Reports that the process violated the protocol and must be killed.
  Actions Condemn(ProcessId process, uint64_t now_ns);
  /// Returns the total time in nanoseconds for which `process` and the thread that serves `core`
  /// have been runnable without a CPU. The count may start at any fixed time. Returns nullopt if
  /// the host does not know.
  using Starved = std::function<std::optional<uint64_t>(CoreId core, ProcessId process)>;
  /// Checks limits, time slices and idle cores. If `starved` is absent or returns nullopt, a
  /// process that has exceeded a limit is killed at once. Otherwise the process is first observed,
  /// and killed once it has had a CPU for about half of the limit more.
  Actions Tick(uint64_t now_ns, const Starved& starved = {});

  CoreState state(CoreId core) const { return cores_[core].state; }
  /// Returns the process of a core that is switching, running, waiting or leaving.
  ProcessId process(CoreId core) const { return cores_[core].process; }
  /// Returns whether the core belongs to a process or is being switched to or from one.
  bool InUse(CoreId core) const { return InUse(cores_[core]); }
  /// Returns the core that would get the process's next call immediately. Returns nullopt if the
  /// call would have to wait or be rejected because the queue is full.
  std::optional<CoreId> WaitingCore(ProcessId process) const {
    const uint32_t waiting = processes_[process].waiting;
    if (waiting == 0) return {};
    return static_cast<CoreId>(std::countr_zero(waiting));
  }
  uint32_t queued(ProcessId process) const { return processes_[process].queue.size(); }
  /// Returns the calls that have not begun.
  const CallQueue& queue(ProcessId process) const { return processes_[process].queue; }
  uint32_t suspended(ProcessId process) const {
    return static_cast<uint32_t>(processes_[process].suspended.size());
  }
  uint64_t counter(DispatchCounter counter) const {
    return counters_[static_cast<uint32_t>(counter)];
  }

 private:
  static constexpr uint64_t kNever = ~uint64_t{0};
  /// Maximum number of calls that time out in one Tick; the rest time out in the next Tick.
  static constexpr uint32_t kTimeOutsPerTick = 64;
  /// Maximum number of checks of a starved process. The interval between checks is at least 1/18 of
  /// the limit.
  static constexpr uint32_t kMostLooks = 1000;
  /// Number of consecutive switches without a load that are not held against a process, because it
  /// may have become idle just before a switch.
  static constexpr uint32_t kIdleSwitches = 16;

  struct Suspended {
    CallId call;
    uint64_t deadline;
  };
  struct Core {
    CoreState state = CoreState::kAway;
    ProcessId process = 0;
    CallId call = 0;             ///< Valid while the core is running a handler.
    uint64_t since = 0;          ///< Time at which the state began.
    uint64_t deadline = kNever;  ///< Deadline of the process's next event.
    uint64_t bound = 0;          ///< Limit from which the deadline was computed.
    uint32_t looks = 0;          ///< Number of checks since the deadline.
    uint64_t looked = 0;         ///< Time of the first check.
    uint64_t starved = 0;        ///< Result of Starved at the first check.
    bool interrupted = false;
    uint64_t again = kNever;  ///< Time of the next interrupt if the handler has not ended by then.
    bool reclaimed = false;
  };
  struct Process {
    bool known = false;
    bool present = false;
    bool condemned = false;  ///< The process must be killed and gets no more calls.
    bool wants = false;      ///< Whether the process wants a core, as last reported to Placement.
    bool preempted = false;
    uint32_t max_cores = 0;
    uint32_t switching = 0;      ///< Cores that are being switched to the process.
    uint32_t idle_switches = 0;  ///< Number of consecutive switches without a load.
    uint64_t idle_since = 0;     ///< Time of the first of these switches.
    uint32_t cores = 0;          ///< Bit mask of the process's cores.
    uint32_t waiting = 0;  ///< Bit mask of the process's cores that are waiting for a call. If not
                           ///< 0, no call is waiting.
    CallQueue queue;       ///< Calls waiting to begin.
    CallQueue resumed;     ///< Resumed calls waiting to continue.
    std::vector<Suspended> suspended{};  ///< Sorted by deadline.

    uint32_t Waits() const { return queue.size() + resumed.size(); }
    CallId Pop() { return resumed.empty() ? queue.Pop() : resumed.Pop(); }
  };

  bool Known(ProcessId id) const { return id < kMaxProcesses && processes_[id].known; }
  static uint32_t Bit(CoreId core) { return uint32_t{1} << core; }
  static bool InUse(const Core& core) { return core.state >= CoreState::kSwitching; }

  void Count(DispatchCounter counter) { ++counters_[static_cast<uint32_t>(counter)]; }
  void Do(Action::Kind kind, DispatchCounter counter, const Action& action);
  void SetState(Core& core, CoreState state, uint64_t now, uint64_t bound);

  /// Reports to Placement whether the process wants a core, if that has changed.
  void Review(ProcessId id, uint64_t now);
  /// Assigns cores that are waiting in the kernel to processes that want one. If more are wanted,
  /// makes idle cores yield, wakes a retired core, or interrupts a running one.
  void Supply(uint64_t now);
  bool Fill(CoreId id, uint64_t now);
  /// Returns the number of cores that will soon be waiting in the kernel.
  uint32_t Coming() const;
  /// Returns the core that has been waiting longest at a process's endpoint, or null if none is
  /// waiting.
  Core* LongestWaiting();
  void WakeOne(uint64_t now);
  void InterruptOne(uint64_t now);

  void Hand(CoreId id, CallId call, uint64_t now);
  void Suspend(CoreId id, uint64_t now);
  /// Continues a suspended call on a waiting core of its process, or queues it.
  void GoOn(ProcessId id, CallId call, uint64_t now);
  void TimeOut(uint64_t now);
  void Yield(Core& core, uint64_t now);
  void Interrupt(Core& core, uint64_t now);
  /// Handles a process that has exceeded its deadline. Returns true and sets a new deadline, or
  /// returns false if the process must be killed. The first call starts observing the process.
  /// Later calls return true while the process has had a CPU for less than 4/9 of its limit since
  /// the first call. Returns false after kMostLooks calls, or if the host does not report
  /// starvation.
  bool Excuse(Core& core, uint64_t now, const Starved& starved);
  /// Counts a switch after which the process returned the core without a load. Kills the process
  /// after more than kIdleSwitches consecutive such switches if these lasted at least switch_bound
  /// in total.
  void CountIdleSwitch(const Core& core, uint64_t now);
  void Kill(ProcessId id);
  /// Removes the process from the core. The caller must set the core's next state.
  void Leave(CoreId id, uint64_t now);
  void ReclaimCores(ProcessId id, uint64_t now);
  void RetireIdle(uint64_t now);
  /// Makes the core that has been idle longest yield, if it has been idle for at least retire_after
  /// and more than kept_cores cores are in use.
  void ReclaimIdleCore(uint64_t now);
  CoreId IdOf(const Core& core) const { return static_cast<CoreId>(&core - cores_.data()); }

  DispatcherConfig config_;
  Placement& placement_;
  uint32_t wanting_ = 0;  ///< Number of processes that want a core.
  std::array<Core, kMaxCores> cores_{};
  std::array<Process, kMaxProcesses> processes_{};
  std::array<uint64_t, kCounters> counters_{};
  std::vector<Action> actions_;
};

}  // namespace sluice::device::rpc
