// SPDX-License-Identifier: BSD-3-Clause
//
// A thread that acts as a CPU and runs tasks. It regains control in two ways. Normally, a task
// checks at its safe points whether its time is over; each check costs a read of the TSC. A task
// that never checks is interrupted by a signal at any instruction: it is "cut".
#pragma once

#include <rte_cycles.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <optional>
#include <span>

#include "coroutine.h"

namespace sluice::sched {

class Processor;

/// The execution context of a task. Functions that the body calls act on the processor that
/// currently runs it; after SafePoint, this may be a different one.
class Fiber {
 public:
  explicit Fiber(std::span<std::byte> stack) : coroutine_(stack) {}

  /// Prepares a call to `body(argument)`, which the next Run makes.
  void Start(Coroutine::Body body, void* argument);

  // Only the body may call the following functions.

  /// Pauses if the task's time is over. Tasks call it about every microsecond.
  inline void SafePoint();
  /// Returns the TSC cycles that the fiber has spent off a processor since its first run. The value
  /// may change between any two instructions, because a signal may cut the body.
  uint64_t away_cycles() const { return away_cycles_.load(std::memory_order_relaxed); }

  /// Protects the body from being cut by a signal. Use it while the body holds a lock, or calls a
  /// function that must not be entered by another fiber of the thread in the meantime (malloc,
  /// stdio, anything with thread-local state). Safe points still pause the body.
  class Uncut {
   public:
    explicit Uncut(Fiber& fiber) : fiber_(fiber) { fiber_.BeginUncut(); }
    ~Uncut() { fiber_.EndUncut(); }
    Uncut(const Uncut&) = delete;
    Uncut& operator=(const Uncut&) = delete;

   private:
    Fiber& fiber_;
  };

 private:
  friend class Processor;
  /// Releases the processor; returns when the fiber runs again.
  [[gnu::noinline]] void Leave();
  // Relaxed order is sufficient, because only a signal handler on the same thread can interrupt,
  // and it restores the count before it returns.
  void BeginUncut() {
    uncut_.store(uncut_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void EndUncut() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    uncut_.store(uncut_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }

  Coroutine coroutine_;
  Processor* processor_ = nullptr;  ///< The current or the last processor.
  Coroutine::Body body_ = nullptr;
  void* argument_ = nullptr;
  bool in_handler_ = false;  ///< The fiber was cut and has not run since.
  // Atomic, because signal handlers on the same thread access them.
  std::atomic<uint32_t> uncut_{0};
  std::atomic<uint64_t> away_cycles_{0};
};

class Processor {
 public:
  /// A fiber that exceeds its time by `runaway_cycles` is cut; 0: fibers are never cut.
  /// `cycles_per_second`: frequency of the TSC.
  Processor(uint64_t runaway_cycles, uint64_t cycles_per_second)
      : runaway_cycles_(runaway_cycles), cycles_per_second_(cycles_per_second) {}
  ~Processor() { Leave(); }
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  /// Binds the calling thread to this processor. Throws std::system_error if a timer is not
  /// available.
  void Enter();
  /// Unbinds the thread. Must be called by that thread.
  void Leave();

  enum class Ended : uint8_t {
    kDone,    ///< The body has returned.
    kPaused,  ///< Paused at a safe point.
    kCut,     ///< Cut by a signal.
  };
  /// Runs a started fiber until it ends or, once the TSC has reached `until`, until it pauses or is
  /// cut.
  Ended Run(Fiber& fiber, uint64_t until);

  /// Ends the fiber's time immediately. May be called by any thread. Has no effect if no fiber is
  /// running, or if one is about to start.
  void Interrupt() { until_.store(0, std::memory_order_relaxed); }

  uint64_t cuts() const { return cuts_; }

 private:
  friend class Fiber;
  static void OnSignal(int signal, siginfo_t* info, void* context);
  void Arrive(Fiber& fiber);

  uint64_t runaway_cycles_;
  uint64_t cycles_per_second_;
  std::optional<timer_t> timer_;
  uint64_t cuts_ = 0;
  bool cut_ = false;                 ///< True if a signal ended the last run.
  std::atomic<uint64_t> cut_at_{0};  ///< TSC time at which a runaway is cut.
  std::atomic<uint64_t> until_{0};
  /// The fiber that may be cut. Null while no fiber is running, and while stacks are being
  /// switched.
  std::atomic<Fiber*> running_{nullptr};
};

inline void Fiber::SafePoint() {
  if (rte_rdtsc() >= processor_->until_.load(std::memory_order_relaxed)) [[unlikely]]
    Leave();
}

}  // namespace sluice::sched
