// SPDX-License-Identifier: BSD-3-Clause
//
// Steps a model in real time, on a dedicated thread or on calling threads: service lcores, or
// workers between their polls. Other threads access the model only through the requests here.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "emulator/stepper.h"

namespace sluice::emulator {

struct RunnerOptions {
  std::string thread_name;         ///< Only the first 15 characters are shown.
  std::optional<cpu_set_t> cpus;   ///< CPUs of the thread; unset for any.
  uint64_t tsc_hz = 0;             ///< Must be greater than 0.
  std::function<void()> on_start;  ///< Called on the thread before its first step; may be empty.
  std::function<void()> on_end;    ///< Called on the thread after its last step; may be empty.
};

/// The constructor starts the thread, and the destructor stops it. The stepper must outlive the
/// runner and must not be used by anything else in the meantime. Methods may be called by any
/// thread.
class Runner {
 public:
  Runner(Stepper& stepper, RunnerOptions options);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Runs one step on the calling thread, which may be any thread. While other threads call this
  /// function, the dedicated thread rests and checks every kRest whether they still do. Returns
  /// false if there was no work, another thread is stepping the model, or a Hold exists.
  bool TurnForOther();

  /// Switches the wire's source on or off. Returns true once the change has taken effect, or false
  /// if the model was not stepped for kPatience; in that case, the change is made in the next step.
  bool EnableWire(bool enabled);
  /// Names and values of the counters. If the model is not stepped, Read returns the last values.
  const std::vector<std::string>& names() const { return names_; }
  std::vector<uint64_t> Read();
  bool LinkUp() const { return link_up_.load(std::memory_order_acquire); }

  /// Prevents steps during its lifetime, so that the holder may change the stepper's objects.
  /// During that time, requests are not served. Only one Hold may exist at a time.
  class Hold {
   public:
    explicit Hold(Runner& runner);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Runner& runner_;
  };

 private:
  static constexpr std::chrono::milliseconds kPatience{1000};
  /// Number of steps without work after which the thread yields its CPU.
  static constexpr uint32_t kIdleSteps = 1000;
  static constexpr std::chrono::milliseconds kRest{20};
  /// Interval between checks of the registers of a model that is at rest (Stepper::AtRest).
  static constexpr std::chrono::milliseconds kLook{1};

  void Run();
  /// Runs a step unless the runner is held or another thread is stepping.
  bool Turn();
  bool Step();
  /// Requests service from the stepping thread and waits for it for up to kPatience. Returns false
  /// if the request was not served in time. The caller must hold `mutex_`.
  bool Request();
  void Serve(uint32_t request, uint64_t now_ns);

  Stepper& stepper_;
  const RunnerOptions options_;
  const uint64_t ns_per_cycle_;  ///< Duration of a TSC cycle in units of 2^-32 ns.
  std::vector<std::string> names_;

  // Accessed only by the thread that has set `stepping_`.
  uint64_t first_cycles_ = 0;
  uint64_t last_ns_ = 0;
  uint64_t busy_cycles_ = 0;
  std::vector<uint64_t> scratch_;

  std::mutex mutex_;  ///< Serializes requests.
  // Written by requesters that hold the mutex, and read by the stepping thread.
  alignas(64) std::atomic<uint32_t> requested_{0};  ///< Release order: the request's parameters are
                                                    ///< visible.
  std::atomic<bool> wire_enabled_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> held_{false};  ///< A Hold exists. Accesses are sequentially consistent with
                                   ///< those of `stepping_`.
  /// Written occasionally by calling threads; on a separate cache line from the stepping thread's
  /// members.
  alignas(64) std::atomic<uint32_t> turns_of_others_{0};
  // Written by the stepping thread.
  alignas(64) std::atomic<uint32_t> served_{0};  ///< Release order: the effects and `values_` are
                                                 ///< visible.
  /// Set by at most one thread, which then owns the step state.
  std::atomic<bool> stepping_{false};
  std::atomic<bool> link_up_{true};
  /// Value of Stepper::AtRest() after the last step without work.
  std::atomic<bool> at_rest_{false};
  std::vector<std::atomic<uint64_t>> values_;

  std::thread thread_;
};

}  // namespace sluice::emulator
