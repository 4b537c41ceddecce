// SPDX-License-Identifier: BSD-3-Clause
#include "task.h"

#include <rte_pause.h>

#include <algorithm>
#include <cstring>

namespace sluice::sched {

void ReturnPath::Note(const uint8_t* frame, const packet::Datagram& datagram) {
  datagram_ = datagram;
  std::memcpy(headers_.data(), frame, std::min<size_t>(datagram.payload, headers_.size()));
}

uint32_t ReturnPath::Frame(const Reply& reply, std::array<uint8_t, kMaxFrame>& frame) const {
  std::memcpy(frame.data(), headers_.data(), headers_.size());
  Write(reply, std::span<uint8_t, kReplyBytes>(frame.data() + datagram_.payload, kReplyBytes));
  datagram_.Answer(frame.data(), kReplyBytes);
  return datagram_.payload + kReplyBytes;
}

void Task::Body(void* task) {
  Task& self = *static_cast<Task*>(task);
  const bool asks = (self.request.flags & kNoSafePoints) == 0;
  uint64_t away_before = 0, begin = 0;
  do {  // Repeated if a signal has cut the task between the two reads.
    away_before = self.fiber.away_cycles();
    begin = rte_rdtsc();
  } while (self.fiber.away_cycles() != away_before);
  int64_t ran = 0;
  for (;;) {
    // The order matters: a cut between the reads makes `ran` smaller, or even negative, and the
    // loop then continues.
    const uint64_t now = rte_rdtsc();
    ran = static_cast<int64_t>(now - begin - (self.fiber.away_cycles() - away_before));
    if (ran >= static_cast<int64_t>(self.work_cycles)) break;
    if (asks) self.fiber.SafePoint();
    rte_pause();
  }
  self.ran_cycles = static_cast<uint64_t>(ran);
}

TaskPool::TaskPool(uint32_t count, size_t stack_bytes) : stacks_(count, stack_bytes) {
  // Reserved, so that the table never grows.
  by_gtid_.reserve(2 * size_t{count});
  for (uint32_t i = 0; i < count; ++i) {
    free_.push_back(&tasks_.emplace_back(stacks_.stack(count - 1 - i)));
  }
}

}  // namespace sluice::sched
