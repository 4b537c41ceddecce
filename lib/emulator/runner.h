// SPDX-License-Identifier: BSD-3-Clause
//
// Steps a model in real time, on a thread of its own or, while they call, on threads of others:
// service lcores, or workers between their polls. Other threads reach the model only through the
// requests here.
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
  std::string thread_name;         ///< At most 15 characters are shown.
  std::optional<cpu_set_t> cpus;   ///< Where the thread runs; not given: wherever.
  uint64_t tsc_hz = 0;             ///< > 0.
  std::function<void()> on_start;  ///< On the thread, before the first step; may be empty.
  std::function<void()> on_end;    ///< On the thread, after its last step; may be empty.
};

/// Construction starts the thread, destruction stops it. The stepper outlives the
/// runner and belongs to it meanwhile. Methods may be called from any thread.
class Runner {
 public:
  Runner(Stepper& stepper, RunnerOptions options);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// One step on the calling thread, which may be any. The own thread rests while there are such
  /// calls, and looks every kRest whether there still are. Returns false if there was nothing to
  /// do, or another thread is stepping the model.
  bool TurnForOther();

  /// Switches the wire's source. True once it has taken effect; false if nobody
  /// stepped the model for kPatience (it takes effect with the next step then).
  bool EnableWire(bool enabled);
  /// Names of the counters, and their values; if nobody steps the model, the last
  /// that were read.
  const std::vector<std::string>& names() const { return names_; }
  std::vector<uint64_t> Read();
  bool LinkUp() const { return link_up_.load(std::memory_order_acquire); }

  /// No step runs while it exists: the holder may change what the stepper steps.
  /// Requests are not served meanwhile. One at a time.
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
  /// Steps without work after which the thread offers its CPU to others.
  static constexpr uint32_t kIdleSteps = 1000;
  static constexpr std::chrono::milliseconds kRest{20};
  /// Between two looks at registers of a model at rest.
  static constexpr std::chrono::milliseconds kLook{1};

  void Run();
  /// A step, unless it is held or another thread is at it.
  bool Turn();
  bool Step();
  /// Asks the stepping thread to serve, and waits for it. `mutex_` is held.
  bool Request();
  void Serve(uint32_t request, uint64_t now_ns);

  Stepper& stepper_;
  const RunnerOptions options_;
  const uint64_t ns_per_cycle_;  ///< In units of 2^-32.
  std::vector<std::string> names_;

  // Whoever has set `stepping_`.
  uint64_t first_cycles_ = 0;
  uint64_t last_ns_ = 0;
  uint64_t busy_cycles_ = 0;
  std::vector<uint64_t> scratch_;

  std::mutex mutex_;  ///< Serialises requests.
  // Written by requesters under the mutex, read by the stepping thread.
  alignas(64) std::atomic<uint32_t> requested_{0};  ///< Release: what the request asks is set.
  std::atomic<bool> wire_enabled_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> held_{false};  ///< Sequentially consistent with `stepping_`.
  /// Written by threads of others, now and then: the line is not the own thread's then.
  alignas(64) std::atomic<uint32_t> turns_of_others_{0};
  // Written by the stepping thread.
  alignas(64) std::atomic<uint32_t> served_{0};  ///< Release: effects and `values_` are visible.
  std::atomic<bool> stepping_{false};  ///< One thread at a time; hands its state to the next.
  std::atomic<bool> link_up_{true};
  std::atomic<bool> at_rest_{false};  ///< Stepper::AtRest, of the last step without work.
  std::vector<std::atomic<uint64_t>> values_;

  std::thread thread_;
};

}  // namespace sluice::emulator
