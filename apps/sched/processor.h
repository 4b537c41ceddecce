// SPDX-License-Identifier: BSD-3-Clause
//
// A thread as a CPU that runs tasks, and takes itself back from them in two ways: a task asks at
// its safe points whether its time is over, which costs a look at the clock; and one that never
// asks is cut by a signal, wherever it is.
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

/// What a task runs as. Those of its members that are for its body act on whatever processor has
/// it at that moment; each may be another after SafePoint.
class Fiber {
 public:
  explicit Fiber(std::span<std::byte> stack) : coroutine_(stack) {}

  /// For its next Run: `body(argument)`.
  void Start(Coroutine::Body body, void* argument);

  // For the body:

  /// Pauses if its time is over. Tasks call it every microsecond or so.
  inline void SafePoint();
  /// TSC cycles since Start in which it was begun and not on a processor. Changes under the body's
  /// hands when a signal cuts it.
  uint64_t away_cycles() const { return away_cycles_.load(std::memory_order_relaxed); }

  /// While one lives, the body is not cut by a signal: it holds a lock, or calls what must not
  /// be called again meanwhile by others of the thread (malloc, stdio, anything with state of a
  /// thread). Its safe points still are.
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
  /// Leaves the processor until it is run again.
  [[gnu::noinline]] void Leave();
  // Only a signal handler of the same thread comes between, and it leaves the count as it was.
  void BeginUncut() {
    uncut_.store(uncut_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void EndUncut() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    uncut_.store(uncut_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }

  Coroutine coroutine_;
  Processor* processor_ = nullptr;  ///< That runs it, or did last.
  Coroutine::Body body_ = nullptr;
  void* argument_ = nullptr;
  bool in_handler_ = false;  ///< It was cut, and not run since.
  // Atomic because a signal handler of the same thread may come between.
  std::atomic<uint32_t> uncut_{0};
  std::atomic<uint64_t> away_cycles_{0};
};

class Processor {
 public:
  /// A fiber that stays `runaway_cycles` beyond its time is cut. 0: never. `cycles_per_second` of
  /// the TSC.
  Processor(uint64_t runaway_cycles, uint64_t cycles_per_second)
      : runaway_cycles_(runaway_cycles), cycles_per_second_(cycles_per_second) {}
  ~Processor() { Leave(); }
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  /// The calling thread is this processor from now on. Throws std::system_error if it can have
  /// no timer.
  void Enter();
  /// The same thread: no longer.
  void Leave();

  enum class Ended : uint8_t {
    kDone,    ///< The body has returned.
    kPaused,  ///< At a safe point.
    kCut,     ///< By a signal.
  };
  /// Runs a fiber that was started, until it ends or the TSC has come to `until` and it notices.
  Ended Run(Fiber& fiber, uint64_t until);

  /// Any thread: the fiber's time is over now. Lost if none runs, and if one is just beginning.
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
  bool cut_ = false;                 ///< What ended the last run.
  std::atomic<uint64_t> cut_at_{0};  ///< The TSC at which a runaway is cut.
  std::atomic<uint64_t> until_{0};
  /// Who may be cut: null from the moment in which the switch to the loop begins to that in which
  /// a fiber has its own stack under it.
  std::atomic<Fiber*> running_{nullptr};
};

inline void Fiber::SafePoint() {
  if (rte_rdtsc() >= processor_->until_.load(std::memory_order_relaxed)) [[unlikely]]
    Leave();
}

}  // namespace sluice::sched
