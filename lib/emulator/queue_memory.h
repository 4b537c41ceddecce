// SPDX-License-Identifier: BSD-3-Clause
//
// A register queue in memory shared by two processes.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <new>

#include "bar/posted_queue.h"
#include "bar/ring_memory.h"

namespace sluice::emulator {

/// Returns the size of a queue's file.
inline size_t QueueBytes() {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (sizeof(bar::PostedQueue) + page_bytes - 1) / page_bytes * page_bytes;
}

/// Addresses for queues. They are far from all addresses that the kernel, the loader and sanitizers
/// choose, so an address that is free here is also free in every process that maps the same pools.
/// There are several areas, because DPDK's memory may be in one of them (--base-virtaddr).
inline constexpr uint64_t kQueueAreas[] = {0x2000'0000'0000, 0x3000'0000'0000, 0x4000'0000'0000};
inline constexpr uint64_t kQueueSpacing = 2 * bar::RingMemory::kHugePageBytes;
inline constexpr uint64_t kQueuePlaces = 64;
static_assert(sizeof(bar::PostedQueue) <= kQueueSpacing);

/// Allocates memory for a queue in one of the areas. If this process cannot use them, because its
/// address space is smaller or no address is free, allocates the memory at any address, where other
/// processes may be unable to map it.
inline bar::RingMemory AllocateQueueMemory() {
  constexpr auto kPages = bar::RingMemory::Pages::kPreferHuge;
#ifndef __SANITIZE_THREAD__  // ThreadSanitizer terminates a program that maps memory in these
                             // areas.
  for (const uint64_t area : kQueueAreas) {
    for (uint64_t i = 0; i < kQueuePlaces; ++i) {
      void* const place = reinterpret_cast<void*>(area + i * kQueueSpacing);
      bar::RingMemory memory = bar::RingMemory::Create(QueueBytes(), false, kPages, place);
      if (memory) return memory;
      if (errno != EEXIST) break;
    }
  }
#endif
  return bar::RingMemory::Create(QueueBytes(), false, kPages);
}

/// Creates a queue. If memory cannot be allocated, `*queue` is null and errno is set.
inline bar::RingMemory CreateQueue(bar::PostedQueue** queue) {
  bar::RingMemory memory = AllocateQueueMemory();
  *queue = memory ? new (memory.data()) bar::PostedQueue() : nullptr;
  return memory;
}

/// Returns the queue that another process created in `memory`, which must have QueueBytes() bytes.
inline bar::PostedQueue* FindQueue(const bar::RingMemory& memory) {
  return std::launder(reinterpret_cast<bar::PostedQueue*>(memory.data()));
}

}  // namespace sluice::emulator
