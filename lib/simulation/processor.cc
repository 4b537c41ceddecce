// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/processor.h"

#include <memory>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace sluice::simulation {
namespace {

/// These inform AddressSanitizer of stack switches: call Leave before a switch and Arrive after it.
void Leave([[maybe_unused]] void** own, [[maybe_unused]] const void* bottom,
           [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(own, bottom, bytes);
#endif
}
void Arrive([[maybe_unused]] void* own, [[maybe_unused]] const void** bottom,
            [[maybe_unused]] size_t* bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(own, bottom, bytes);
#endif
}

}  // namespace

Processor::Processor(fabric::EventQueue& queue, fabric::Cpu& cpu) : queue_(&queue), cpu_(&cpu) {
  cpu.RunAsCoroutine([this] { Suspend(); }, [this] { Resume(); });
  cpu.OnArrival([this] { Arrived(); });
  cpu.OnInterrupt([this](uint32_t) { Signal(); });
}

void Processor::Start(std::function<void()> program) {
  finished_ = false;
  boost::context::fixedsize_stack allocator(kStackBytes);
  const boost::context::stack_context memory = allocator.allocate();
  stack_ = {static_cast<const char*>(memory.sp) - memory.size, memory.size};
  fiber_ = boost::context::fiber(
      std::allocator_arg, boost::context::preallocated(memory.sp, memory.size, memory), allocator,
      [this, program = std::move(program)](boost::context::fiber&& caller) {
        Arrive(nullptr, &caller_stack_.bottom, &caller_stack_.bytes);
        caller_ = std::move(caller);
        try {
          if (!ending_) program();
        } catch (const Ending&) {
        }
        finished_ = true;
        Leave(nullptr, caller_stack_.bottom, caller_stack_.bytes);
        return std::move(caller_);
      });
  queue_->At(queue_->now(), [this] { Resume(); });
}

Processor::~Processor() {
  if (finished_) return;
  ending_ = true;
  Resume();
}

void Processor::Suspend() {
  void* own = nullptr;
  Leave(&own, caller_stack_.bottom, caller_stack_.bytes);
  caller_ = std::move(caller_).resume();
  Arrive(own, &caller_stack_.bottom, &caller_stack_.bytes);
  if (ending_) throw Ending{};
}

void Processor::Resume() {
  if (on_resume_ != nullptr) on_resume_();
  void* own = nullptr;
  Leave(&own, stack_.bottom, stack_.bytes);
  fiber_ = std::move(fiber_).resume();
  Arrive(own, nullptr, nullptr);
}

void Processor::Compute(Picoseconds duration) {
  cpu_->Compute(duration);
  cpu_->CatchUp();
}

bool Processor::PollNews() {
  const bool arrived = watching_ && std::exchange(arrived_, false);
  return std::exchange(signalled_, false) || arrived;
}

bool Processor::Wait(Picoseconds until) { return WaitFor(true, until); }

bool Processor::WaitForSignal(Picoseconds until) { return WaitFor(false, until); }

bool Processor::WaitFor(bool arrivals, Picoseconds until) {
  CatchUp();
  watching_ = arrivals;
  if (PollNews()) return true;
  if (until <= queue_->now()) return false;
  waiting_ = true;
  if (until != kForever) {
    queue_->At(until, [this, wait = waits_] {
      if (wait == waits_ && std::exchange(waiting_, false)) Resume();
    });
  }
  Suspend();
  ++waits_;
  cpu_->StallUntil(queue_->now());
  return PollNews();
}

void Processor::Signal() {
  signalled_ = true;
  Wake();
}

void Processor::Arrived() {
  arrived_ = true;
  if (watching_) Wake();
}

void Processor::Wake() {
  // Resumes from the queue instead of here, because the caller may itself be running on a fibre.
  if (std::exchange(waiting_, false)) queue_->At(queue_->now(), [this] { Resume(); });
}

}  // namespace sluice::simulation
