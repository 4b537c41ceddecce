// SPDX-License-Identifier: BSD-3-Clause
#include "device/stage/stage.h"

#include <algorithm>
#include <span>

namespace sluice::device::stage {

bool Stage::Step() {
  StageCounters::Add(counters_->steps, 1);
  bool any = device_.Receive();
  for (NodeSlot& slot : device_.slots()) {
    if (slot.queue) {
      any |= ServeQueue(*slot.queue);
    } else if (slot.reader) {
      any |= ServeStream(slot);
    }
  }
  return device_.Send() || any;
}

bool Stage::ServeStream(NodeSlot& slot) {
  const uint32_t most = slot.setup.max_message;
  uint32_t count = 0;
  bool any = false;
  for (uint32_t bytes = 0; count < kMaxBatch && bytes <= kBatchBytes; bytes += most) {
    if (slot.writer && !slot.MayPut()) break;
    pcie_switch::Message& message = messages_[count];
    if (!slot.reader->Pop(message)) break;
    any = true;
    if (message.data.size() > most) {
      StageCounters::Add(counters_->failed, 1);
      continue;
    }
    results_[count].resize(slot.writer ? most : 0);
    batch_[count] = {.input = message.data,
                     .output = results_[count],
                     .command = message.header.command,
                     .state = message.header.state,
                     .key = message.header.key};
    ++count;
  }
  if (count == 0) return any;
  Run(count);
  for (uint32_t i = 0; i < count; ++i) {
    const Work& work = batch_[i];
    if (work.outcome != Outcome::kDone || !slot.writer) continue;
    slot.writer->Put({.message = messages_[i].header.message, .key = work.key},
                     std::span(results_[i]).first(work.length));
  }
  return true;
}

bool Stage::ServeQueue(DescriptorQueue& queue) {
  const uint32_t ready = queue.Ready();
  uint32_t count = 0;
  for (uint32_t i = 0; i < ready; ++i) {
    DescriptorQueue::Job& job = queue.job(i);
    if (!job.good()) continue;
    batch_[count++] = {.input = job.data,
                       .output = job.room(),
                       .command = job.descriptor.command,
                       .state = job.descriptor.state};
  }
  if (count != 0) Run(count);
  for (uint32_t i = 0, at = 0; i < ready; ++i) {
    if (!queue.job(0).good()) {
      queue.Answer(Outcome::kFailed, 0, 0);
      StageCounters::Add(counters_->failed, 1);
      continue;
    }
    const Work& work = batch_[at++];
    queue.Answer(work.outcome, work.length, work.key[0]);
  }
  return ready != 0;
}

/// Processes the first `count` messages of the batch. The lengths that the executor returns are not
/// trusted.
void Stage::Run(uint32_t count) {
  const auto batch = std::span(batch_).first(count);
  executor_->Run(batch);
  StageCounters::Add(counters_->batches, 1);
  for (Work& work : batch) {
    if (work.outcome == Outcome::kDone && work.length > work.output.size())
      work.outcome = Outcome::kFailed;
    switch (work.outcome) {
      case Outcome::kDone:
        StageCounters::Add(counters_->done, 1);
        break;
      case Outcome::kRefused:
        StageCounters::Add(counters_->refused[std::min<uint32_t>(work.refusal, kMaxRefusals - 1)],
                           1);
        break;
      case Outcome::kFailed:
        StageCounters::Add(counters_->failed, 1);
        break;
    }
  }
}

}  // namespace sluice::device::stage
