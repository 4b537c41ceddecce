// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/processor.h"

#include <memory>
#include <utility>

namespace sluice::simulation {

Processor::Processor(fabric::EventQueue& queue, fabric::Cpu& cpu) : queue_(&queue), cpu_(&cpu) {
  cpu.RunAsCoroutine([this] { Suspend(); }, [this] { Resume(); });
  cpu.OnArrival([this] { Arrived(); });
  cpu.OnInterrupt([this](uint32_t) { Signal(); });
}

void Processor::Start(std::function<void()> program) {
  finished_ = false;
  fiber_ = boost::context::fiber(
      std::allocator_arg, boost::context::fixedsize_stack(kStackBytes),
      [this, program = std::move(program)](boost::context::fiber&& caller) {
        caller_ = std::move(caller);
        program();
        finished_ = true;
        return std::move(caller_);
      });
  queue_->At(queue_->now(), [this] { Resume(); });
}

void Processor::Suspend() { caller_ = std::move(caller_).resume(); }

void Processor::Resume() {
  if (on_resume_ != nullptr) on_resume_();
  fiber_ = std::move(fiber_).resume();
}

void Processor::Compute(Picoseconds duration) {
  cpu_->Compute(duration);
  cpu_->CatchUp();
}

bool Processor::TakeNews() {
  const bool arrived = watching_ && std::exchange(arrived_, false);
  return std::exchange(signalled_, false) || arrived;
}

bool Processor::Wait(Picoseconds until) { return WaitFor(true, until); }

bool Processor::WaitForSignal(Picoseconds until) { return WaitFor(false, until); }

bool Processor::WaitFor(bool arrivals, Picoseconds until) {
  CatchUp();
  watching_ = arrivals;
  if (TakeNews()) return true;
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
  return TakeNews();
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
  // Not from here: who signals may be a fibre itself.
  if (std::exchange(waiting_, false)) queue_->At(queue_->now(), [this] { Resume(); });
}

}  // namespace sluice::simulation
