// SPDX-License-Identifier: BSD-3-Clause
#include "processor.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace sluice::sched {
namespace {

// A real-time signal that neither the kernel nor another part of this program uses.
int CutSignal() { return SIGRTMIN + 2; }

// Signals with a shorter period would cost more processor time than they save.
constexpr uint64_t kShortestPeriodNs = 50'000;

void MaskCutSignal(int how) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, CutSignal());
  pthread_sigmask(how, &signals, nullptr);
}

// A signal handler may read this variable, so it must not be allocated lazily.
[[gnu::tls_model("initial-exec")]] thread_local Processor* current_processor = nullptr;

// A fiber that was cut may continue on another thread, where errno has a different address.
// Compilers assume that the address is constant within a function, so errno is accessed in separate
// functions.
[[gnu::noinline]] int ReadErrno() {
  asm volatile("" ::: "memory");
  return errno;
}
[[gnu::noinline]] void WriteErrno(int value) {
  asm volatile("" ::: "memory");
  errno = value;
}

}  // namespace

void Fiber::Start(Coroutine::Body body, void* argument) {
  body_ = body;
  argument_ = argument;
  processor_ = nullptr;
  in_handler_ = false;
  uncut_.store(0, std::memory_order_relaxed);
  away_cycles_.store(0, std::memory_order_relaxed);
  coroutine_.Start(
      [](void* self) {
        Fiber& fiber = *static_cast<Fiber*>(self);
        fiber.processor_->Arrive(fiber);
        fiber.body_(fiber.argument_);
        fiber.BeginUncut();
        fiber.processor_->running_.store(nullptr, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
      },
      this);
}

void Fiber::Leave() {
  BeginUncut();  // processor_ cannot change from here on.
  const uint64_t left = rte_rdtsc();
  processor_->running_.store(nullptr, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  coroutine_.Pause();
  away_cycles_.fetch_add(rte_rdtsc() - left, std::memory_order_relaxed);
  processor_->Arrive(*this);  // processor_ may be a different processor now.
  EndUncut();
}

void Processor::Arrive(Fiber& fiber) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  running_.store(&fiber, std::memory_order_relaxed);
}

void Processor::Enter() {
  current_processor = this;
  if (runaway_cycles_ == 0) return;
  struct sigaction action {};
  action.sa_sigaction = &OnSignal;
  // The signal is blocked in its handler; otherwise, signals that arrive faster than they are
  // handled would pile up on the stack. A fiber that is cut leaves the handler much later, possibly
  // on another thread: see Run.
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = CutSignal();
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  timer_t timer{};
  // The period is half the time by which a task may overrun, but at least kShortestPeriodNs.
  const uint64_t period_ns =
      std::max<uint64_t>(static_cast<uint64_t>(static_cast<double>(runaway_cycles_) * 5e8 /
                                               static_cast<double>(cycles_per_second_)),
                         kShortestPeriodNs);
  const timespec period{static_cast<time_t>(period_ns / 1'000'000'000),
                        static_cast<long>(period_ns % 1'000'000'000)};
  const itimerspec times{period, period};
  if (sigaction(CutSignal(), &action, nullptr) != 0 ||
      timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot create a worker's timer");
  }
  timer_ = timer;
  timer_settime(timer, 0, &times, nullptr);
}

void Processor::Leave() {
  if (timer_) timer_delete(*timer_);
  timer_.reset();
  if (current_processor == this) current_processor = nullptr;
}

Processor::Ended Processor::Run(Fiber& fiber, uint64_t until) {
  fiber.processor_ = this;
  cut_ = false;
  cut_at_.store(until + runaway_cycles_, std::memory_order_relaxed);
  until_.store(until, std::memory_order_relaxed);
  // The fiber continues inside the handler, and its return from the handler unblocks the signal.
  if (std::exchange(fiber.in_handler_, false)) MaskCutSignal(SIG_BLOCK);
  const bool done = fiber.coroutine_.Resume();
  if (done) return Ended::kDone;
  if (!cut_) return Ended::kPaused;
  fiber.in_handler_ = true;
  MaskCutSignal(SIG_UNBLOCK);
  return Ended::kCut;
}

void Processor::OnSignal(int, siginfo_t*, void*) {
  Processor* const processor = current_processor;
  if (processor == nullptr) return;
  Fiber* const fiber = processor->running_.load(std::memory_order_relaxed);
  if (fiber == nullptr || fiber->uncut_.load(std::memory_order_relaxed) != 0) return;
  if (rte_rdtsc() < processor->cut_at_.load(std::memory_order_relaxed)) return;
  const int error = ReadErrno();
  ++processor->cuts_;
  processor->cut_ = true;
  fiber->Leave();  // The fiber's registers are in the signal frame on its stack.
  WriteErrno(error);
}

}  // namespace sluice::sched
