// SPDX-License-Identifier: BSD-3-Clause
//
// Which core runs which call: the NIC's half of a scheduler, after Lauberhorn ("The NIC should be
// part of the OS"). It knows who waits where from the loads that it sees: a core loads the line of
// its kernel endpoint, or that of the process which the kernel switched it to. A call goes to a
// core that waits in its process; else the process gets a core through a kernel endpoint (scaling
// up), or its calls wait in its queue. A process that has no more calls while others want cores is
// answered YIELDNOW, a core that nobody needs RETIRE (scaling down).
//
// A call may be suspended: its function has made another call instead of returning a result. Its
// core is free then, and whoever answers the other call says Resume: the suspended call is handed
// to its process once more, before calls that have not begun.
//
// A state machine without clock, memory or threads: events in, actions out.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "device/rpc/call_queue.h"
#include "device/rpc/placement.h"

namespace sluice::device::rpc {

/// All times in nanoseconds.
struct DispatcherConfig {
  uint32_t cores = 1;                ///< 1 … kMaxCores.
  uint32_t queue_capacity = 32;      ///< Calls that wait for one process; ≥ 1.
  uint32_t suspended_capacity = 32;  ///< Suspended calls of one process; ≥ 1.
  /// From a switch to the process's first load. Also the time after which a process is killed that
  /// gives its cores back at every switch and never loads.
  uint64_t switch_bound = 1'000'000'000;
  uint64_t leave_bound = 1'000'000'000;  ///< From YIELDNOW to the kernel's load.
  uint64_t preempt_bound = 100'000'000;  ///< From an interrupt to the end of the handler.
  /// Between interrupts of a handler that goes on: one that came before it began to wait ends
  /// nothing.
  uint64_t interrupt_every = 1'000'000;
  uint64_t handler_bound = 0;             ///< From a call's delivery to its end; 0: none.
  uint64_t nested_bound = 1'000'000'000;  ///< From a call's suspension to Resume.
  /// Idle time after which a core is taken back from its process, and after which it is retired; 0:
  /// never.
  uint64_t retire_after = 0;
  uint32_t kept_cores = 1;  ///< Cores that stay although they are idle.
};

/// Calls of one process, at most, that have arrived and not ended: those that wait to begin, those
/// that are suspended or wait to go on, and for each core one that it runs, or that goes on because
/// too many are suspended.
constexpr uint32_t MaxCalls(const DispatcherConfig& config) {
  return std::max(config.queue_capacity, 1u) + std::max(config.suspended_capacity, 1u) +
         std::clamp(config.cores, 1u, kMaxCores);
}

/// One thing for the device to do. `core` and `process` where they make sense; `call` of those
/// that say so. Every call that arrived ends in one of the last five, once; suspended or not, it is
/// handed to its process once from the beginning, and once more for each time it was suspended.
struct Action {
  enum class Kind : uint8_t {
    kRequest,    ///< Answer the load of the user endpoint with `call`.
    kSwitch,     ///< Answer the load of the kernel endpoint: run `process`.
    kYieldNow,   ///< Answer the load of the user endpoint: back to the kernel.
    kRetire,     ///< Answer the load of the kernel endpoint: the core is not needed.
    kInterrupt,  ///< Interrupt the core; YIELDNOW follows when the handler has ended.
    kKill,       ///< The process overran a bound: the kernel is to end it (then Gone).
    kWake,       ///< Interrupt a retired core: its kernel is to load again.
    kSuspended,  ///< `call` waits for another call, which is in the line: Resume follows.
    kTooMany,    ///< The same, but `call` goes on at once: its process has suspended too many.
    kTimedOut,   ///< `call` waited for too long, and goes on without an answer.
    kAnswered,   ///< `call` was executed: its reply is in the line.
    kQueueFull,  ///< `call` was not executed: too many wait.
    kNoProcess,  ///< `call` was not executed: nobody knows the process.
    kRemoved,    ///< `call` was not executed: its process was removed while it waited.
    kLost,       ///< `call` was begun, and its process died or was taken off its core.
  };
  Kind kind;
  CoreId core = 0;
  ProcessId process = 0;
  CallId call = 0;

  friend bool operator==(const Action&, const Action&) = default;
};

/// What is counted, in the order of Dispatcher::kCounterNames.
enum class DispatchCounter : uint8_t {
  kArrived,
  kAnswered,
  kQueueFull,
  kNoProcess,
  kRemoved,
  kLost,
  kStrayLoads,  ///< Loads that fit no state: of a process that does not have the core.
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

/// What came back with a load of a process: the call's reply, or a call to make before.
enum class Done : uint8_t { kReply, kCall };

/// One thread. Each event returns what is to be done, in this order; valid until the next event.
/// No allocation after construction and AddProcess. Time never goes back.
class Dispatcher {
 public:
  using Actions = std::span<const Action>;

  /// What the device knows of a core.
  enum class CoreState : uint8_t {
    kAway,       ///< The kernel has it for itself.
    kRetired,    ///< The same, and the device may ask for it.
    kWaking,     ///< The device asked for it.
    kFreed,      ///< Its process is gone: the kernel's load will come.
    kKernel,     ///< Waits at its kernel endpoint.
    kSwitching,  ///< On the way to its process.
    kRunning,    ///< In a handler.
    kWaiting,    ///< Waits at its process's endpoint.
    kLeaving,    ///< On the way back to the kernel.
  };

  static constexpr uint32_t kCounters = 16;
  static const std::array<std::string_view, kCounters> kCounterNames;

  /// `placement` outlives it.
  Dispatcher(const DispatcherConfig& config, Placement& placement);

  // Processes; control path.

  /// Makes a process known, which runs nowhere until Ready. At most `max_cores` at a time are its.
  /// Its calls wait meanwhile. False: the number is out of range or taken.
  bool AddProcess(ProcessId process, uint32_t max_cores);
  /// It is up, and may be switched to.
  Actions Ready(ProcessId process, uint64_t now_ns);
  /// It died, or was killed: what it ran or had suspended is lost, what waits stays for its next
  /// incarnation.
  Actions Gone(ProcessId process, uint64_t now_ns);
  /// As Gone, and it does not come back.
  Actions RemoveProcess(ProcessId process, uint64_t now_ns);

  // What the device meets.

  /// A call was decoded. `call` is in no action or queue.
  Actions Arrive(ProcessId process, CallId call, uint64_t now_ns);
  /// A core loads its kernel endpoint: whatever it did for a process is over.
  Actions KernelLoads(CoreId core, uint64_t now_ns);
  /// A core loads `process`'s endpoint: the call that it had is answered, or suspended. Again while
  /// it waits (after TRYAGAIN): nothing changes.
  Actions UserLoads(CoreId core, ProcessId process, uint64_t now_ns, Done done = Done::kReply);
  /// What a call was suspended for is there. Without effect if it is not suspended any more.
  Actions Resume(ProcessId process, CallId call, uint64_t now_ns);
  /// The kernel wants the core for itself: it gets RETIRE as soon as can be.
  Actions Reclaim(CoreId core, uint64_t now_ns);
  /// The process broke the protocol: it is to be killed.
  Actions Condemn(ProcessId process, uint64_t now_ns);
  /// Returns the nanoseconds, since any fixed time, in which `process` and what serves `core` could
  /// have run and had no CPU; nothing if the host does not know.
  using Starved = std::function<std::optional<uint64_t>(CoreId core, ProcessId process)>;
  /// Time passed: bounds, slices, idle cores. With `starved`, a process that overran a bound is
  /// watched: it is killed when it was not starved for half of the bound more.
  Actions Tick(uint64_t now_ns, const Starved& starved = {});

  CoreState state(CoreId core) const { return cores_[core].state; }
  /// Of a core that is switching, running, waiting or leaving.
  ProcessId process(CoreId core) const { return cores_[core].process; }
  /// Whether its process has the core, or is on the way to it or off it.
  bool InUse(CoreId core) const { return InUse(cores_[core]); }
  /// The core that the process's next call goes to at once; nothing: it waits, or has no room.
  std::optional<CoreId> WaitingCore(ProcessId process) const {
    const uint32_t waiting = processes_[process].waiting;
    if (waiting == 0) return {};
    return static_cast<CoreId>(std::countr_zero(waiting));
  }
  uint32_t queued(ProcessId process) const { return processes_[process].queue.size(); }
  /// The calls that wait to begin.
  const CallQueue& queue(ProcessId process) const { return processes_[process].queue; }
  uint32_t suspended(ProcessId process) const {
    return static_cast<uint32_t>(processes_[process].suspended.size());
  }
  uint64_t counter(DispatchCounter counter) const {
    return counters_[static_cast<uint32_t>(counter)];
  }

 private:
  static constexpr uint64_t kNever = ~uint64_t{0};
  /// Calls that time out in one Tick; the others do in the next.
  static constexpr uint32_t kTimeOutsPerTick = 64;
  /// Looks at a process that is starved: each is at least an eighteenth of the bound after the
  /// last.
  static constexpr uint32_t kMostLooks = 1000;
  /// A process is not blamed for so many switches in a row without a load: it may have ended just
  /// before them.
  static constexpr uint32_t kIdleSwitches = 16;

  struct Suspended {
    CallId call;
    uint64_t deadline;
  };
  struct Core {
    CoreState state = CoreState::kAway;
    ProcessId process = 0;
    CallId call = 0;             ///< While running.
    uint64_t since = 0;          ///< Of the state.
    uint64_t deadline = kNever;  ///< For the process's next move.
    uint64_t bound = 0;          ///< From which the deadline was computed.
    uint32_t looks = 0;          ///< Number of checks after the deadline.
    uint64_t looked = 0;         ///< Time of the first check.
    uint64_t starved = 0;        ///< Result of Starved at the first check.
    bool interrupted = false;
    uint64_t again = kNever;  ///< The next interrupt, if the handler has not ended.
    bool reclaimed = false;
  };
  struct Process {
    bool known = false;
    bool present = false;
    bool condemned = false;  ///< To be killed; gets no more calls.
    bool wants = false;      ///< As Placement was told.
    bool preempted = false;
    uint32_t max_cores = 0;
    uint32_t switching = 0;              ///< Cores on the way.
    uint32_t idle_switches = 0;          ///< Switches in a row that it answered without a load.
    uint64_t idle_since = 0;             ///< Time of the first of them.
    uint32_t cores = 0;                  ///< That it has, by bit.
    uint32_t waiting = 0;                ///< Of those, the ones that wait. Not 0: nothing waits.
    CallQueue queue;                     ///< Calls that wait to begin,
    CallQueue resumed;                   ///< and suspended ones that wait to go on.
    std::vector<Suspended> suspended{};  ///< In the order of deadlines; room for all there may be.

    uint32_t Waits() const { return queue.size() + resumed.size(); }
    CallId Pop() { return resumed.empty() ? queue.Pop() : resumed.Pop(); }
  };

  bool Known(ProcessId id) const { return id < kMaxProcesses && processes_[id].known; }
  static uint32_t Bit(CoreId core) { return uint32_t{1} << core; }
  /// Its process has it.
  static bool InUse(const Core& core) { return core.state >= CoreState::kSwitching; }

  void Count(DispatchCounter counter) { ++counters_[static_cast<uint32_t>(counter)]; }
  void Do(Action::Kind kind, DispatchCounter counter, const Action& action);
  void SetState(Core& core, CoreState state, uint64_t now, uint64_t bound);

  /// Tells Placement whether the process wants a core, if that has changed.
  void Review(ProcessId id, uint64_t now);
  /// Finds cores for those that want one.
  void Supply(uint64_t now);
  bool Fill(CoreId id, uint64_t now);
  /// Cores that will wait in the kernel soon.
  uint32_t Coming() const;
  /// The idle core of a process that has waited longest; null: none.
  Core* LongestWaiting();
  void WakeOne(uint64_t now);
  void InterruptOne(uint64_t now);

  void Hand(CoreId id, CallId call, uint64_t now);
  void Suspend(CoreId id, uint64_t now);
  /// A call that was suspended goes on where a core of its process waits, or waits for one.
  void GoOn(ProcessId id, CallId call, uint64_t now);
  void TimeOut(uint64_t now);
  void Yield(Core& core, uint64_t now);
  void Interrupt(Core& core, uint64_t now);
  /// Whether the core's process, which overran its deadline, had no CPU meanwhile.
  bool Excuse(Core& core, uint64_t now, const Starved& starved);
  /// The process gave a core back that it had been switched to, and had not loaded.
  void CountIdleSwitch(const Core& core, uint64_t now);
  void Kill(ProcessId id);
  /// The process is off the core, whose next state the caller sets.
  void Leave(CoreId id, uint64_t now);
  void TakeCores(ProcessId id, uint64_t now);
  void RetireIdle(uint64_t now);
  /// Of idle cores of processes, the one that has waited longest.
  void TakeIdleBack(uint64_t now);
  CoreId IdOf(const Core& core) const { return static_cast<CoreId>(&core - cores_.data()); }

  DispatcherConfig config_;
  Placement& placement_;
  uint32_t wanting_ = 0;  ///< Processes that want a core.
  std::array<Core, kMaxCores> cores_{};
  std::array<Process, kMaxProcesses> processes_{};
  std::array<uint64_t, kCounters> counters_{};
  std::vector<Action> actions_;
};

}  // namespace sluice::device::rpc
