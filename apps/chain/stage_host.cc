// SPDX-License-Identifier: BSD-3-Clause
#include "stage_host.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/monotonic_clock.h"

namespace sluice::chain_app {
namespace {

/// Limit per counter, so that sums do not overflow: a process may write any value to its counters.
constexpr uint64_t kMostCounted = uint64_t{1} << 48;

uint64_t Load(const std::atomic<uint64_t>& counter) {
  return std::min(counter.load(std::memory_order_relaxed), kMostCounted);
}

}  // namespace

uint64_t StageFigures::all_refused() const {
  uint64_t sum = 0;
  for (const uint64_t count : refused) sum += count;
  return sum;
}

std::unique_ptr<StageHost> StageHost::Start(const StageSpec& spec, const std::string& program,
                                            std::string* error) {
  std::unique_ptr<StageHost> stage(new StageHost(spec, program));
  if (!stage->NewMemory(error)) return nullptr;
  const bool started = stage->is_process() ? stage->Spawn(error) && stage->AwaitReady(error)
                                           : stage->StartThread(error);
  return started ? std::move(stage) : nullptr;
}

bool StageHost::NewMemory(std::string* error) {
  auto made =
      bar::RingMemory::Create(kStageMemoryBytes, false, bar::RingMemory::Pages::kPreferHuge);
  if (!made) {
    *error = std::string("no memory for a stage: ") + std::strerror(errno);
    return false;
  }
  memory_ = std::move(made);
  new (memory_.data()) StageMemory{};
  if (spec_.options.size() >= memory().options.size()) {
    *error = "options: give at most " + std::to_string(memory().options.size() - 1) + " bytes";
    return false;
  }
  std::ranges::copy(spec_.options, memory().options.begin());
  return true;
}

bool StageHost::StartThread(std::string* error) {
  executor_ = spec_.kind->make({spec_.options, spec_.max_message}, error);
  if (executor_ == nullptr) return false;
  stage_ = std::make_unique<device::stage::Stage>(memory().link, spec_.port, *executor_,
                                                  memory().counters);
  thread_ = std::make_unique<host::StepThread<>>([stage = stage_.get()] { return stage->Step(); });
  return true;
}

bool StageHost::Spawn(std::string* error) {
  child_ = host::ChildProcess::Start(
      {.program = program_,
       .arguments = {std::to_string(host::ChildDescriptor(0)), std::to_string(spec_.port),
                     std::to_string(spec_.max_message), spec_.executor, std::to_string(getpid())},
       .descriptors = {memory_.fd()},
       .own_group = true},
      error);
  return child_.pid() != 0;
}

bool StageHost::AwaitReady(std::string* error) {
  for (const uint64_t end = base::MonotonicNs() + kPatienceNs; phase() == Phase::kStarting;) {
    constexpr timespec kNap{0, 1'000'000};
    nanosleep(&kNap, nullptr);
    if (Ended()) break;
    if (base::MonotonicNs() > end) {
      *error = program_ + " did not become ready in time";
      return false;
    }
  }
  if (phase() == Phase::kReady) return true;
  *error = this->error();
  return false;
}

std::string StageHost::error() {
  std::array<char, sizeof(StageMemory::error)> text = memory().error;
  text.back() = '\0';
  if (phase() == Phase::kFailed) return host::PrintableText(text.data());
  if (!Ended()) return program_ + " did not become ready: it wrote an invalid state";
  return program_ + " did not become ready: it " + child_.HowEnded();
}

StageFigures StageHost::figures() {
  const device::stage::StageCounters& counters = memory().counters;
  StageFigures sum = before_;
  sum.batches += Load(counters.batches);
  sum.done += Load(counters.done);
  sum.failed += Load(counters.failed);
  for (uint32_t i = 0; i < kMaxRefusals; ++i) sum.refused[i] += Load(counters.refused[i]);
  return sum;
}

bool StageHost::Restart(std::string* error) {
  const StageFigures all = figures();
  if (!NewMemory(error)) return false;
  before_ = all;
  if (!Spawn(error)) return false;
  ++before_.restarts;
  return true;
}

}  // namespace sluice::chain_app
