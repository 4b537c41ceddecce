// SPDX-License-Identifier: BSD-3-Clause
//
// A register queue in memory that two processes share.
#pragma once

#include <unistd.h>

#include <new>

#include "bar/posted_queue.h"
#include "bar/ring_memory.h"

namespace sluice::emulator {

/// Bytes of a file that holds a queue.
inline size_t QueueBytes() {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (sizeof(bar::PostedQueue) + page_bytes - 1) / page_bytes * page_bytes;
}

/// A new queue; `*queue` is null and errno set if there is no memory.
inline bar::RingMemory CreateQueue(bar::PostedQueue** queue) {
  auto memory =
      bar::RingMemory::Create(QueueBytes(), false, bar::RingMemory::Pages::kPreferHuge);
  *queue = memory ? new (memory.data()) bar::PostedQueue() : nullptr;
  return memory;
}

/// The queue that another process created in `memory`, of QueueBytes().
inline bar::PostedQueue* FindQueue(const bar::RingMemory& memory) {
  return std::launder(reinterpret_cast<bar::PostedQueue*>(memory.data()));
}

}  // namespace sluice::emulator
