// SPDX-License-Identifier: BSD-3-Clause
#include "stage.h"

#include <rte_cycles.h>

#include <utility>

namespace sluice::sched {

Stage::Stage(const SchedulerOptions& options, const AgentThreadOptions& agent, const Clock& clock,
             TaskPool& pool, std::span<ProcessorSlot> processors)
    : options_(options),
      clock_(clock),
      lock_(options.cpus > 1),
      // The kernel has more slots than there are tasks, because ended tasks occupy their slots for
      // a while.
      kernel_({.cpus = options.cpus, .max_tasks = 2 * options.max_tasks}),
      pool_(pool),
      scheduler_(MakeScheduler(options, kernel_, processors)),
      begin_(std::chrono::steady_clock::now()),
      before_(DisturbanceSoFar()) {
  if (options.mode != "local") agent_.emplace(*scheduler_, clock, agent);
}

void Stage::Dismiss() {
  if (agent_) agent_->Stop();
  const std::scoped_lock lock(lock_);
  kernel_.SetAgent(false, clock_.Nanoseconds(rte_rdtsc()));
}

Result Stage::ReadResult(Figures figures, const HostFigures& host) const {
  using Time = std::chrono::steady_clock::time_point;
  Result result;
  result.policy = options_.mode == "local" ? "-" : options_.policy;
  result.mode = options_.mode;
  const Time end = end_.load();
  result.seconds = std::chrono::duration<double>(
                       (end == Time() ? std::chrono::steady_clock::now() : end) - begin_)
                       .count();
  result.busy = static_cast<double>(clock_.Nanoseconds(figures.busy_cycles)) /
                (result.seconds * 1e9 * options_.cpus);
  result.disturbance = DisturbanceSoFar() - before_;
  result.figures = std::move(figures);
  result.host = host;
  if (agent_) {
    result.agent = agent_->counters();
    result.agents = agent_->agents();
  }
  return result;
}

Play::Play(const PlayOptions& options, const Clock& clock)
    : options_(options),
      clock_(clock),
      processors_(options.workers),
      pool_(options.scheduler.max_tasks, options.stack_bytes),
      board_(options.workers) {
  options_.scheduler.cpus = static_cast<CpuId>(options.workers);
  Begin();
}

void Play::Begin() {
  SchedulerOptions scheduler = options_.scheduler;
  scheduler.policy = options_.cells[cell_].policy;
  scheduler.mode = options_.cells[cell_].mode;
  stage_ = std::make_unique<Stage>(scheduler, options_.agent, clock_, pool_, processors_);
}

Result Play::ReadResult() const {
  const std::scoped_lock lock(mutex_);
  Figures figures;
  HostFigures host;
  board_.Sum(&figures, &host);
  return stage_->ReadResult(std::move(figures), host);
}

Play::Next Play::Advance() {
  stage_->End();
  Result result = ReadResult();
  if (!best_ || result.disturbance < best_->disturbance) best_ = std::move(result);
  const bool again = best_->IsDisturbed() && replayed_ < options_.replays;
  if (again) {
    board_.Restart();
  } else {
    board_.Finish(*std::exchange(best_, std::nullopt));
  }
  const std::scoped_lock lock(mutex_);
  closed_ = !again && cell_ + 1 == options_.cells.size();
  if (closed_) return Next::kNone;
  replayed_ = again ? replayed_ + 1 : 0;
  if (!again) ++cell_;
  stage_.reset();
  Begin();
  return again ? Next::kAgain : Next::kOther;
}

void Play::Close() {
  if (!closed_) board_.Finish(ReadResult());
  closed_ = true;
}

}  // namespace sluice::sched
