// SPDX-License-Identifier: BSD-3-Clause
#include "bar/posted_queue.h"

#include <array>
#include <bitset>
#include <mutex>
#include <thread>

namespace sluice::bar {
namespace {

/// Process-wide numbering of the threads that touch a model's registers. A thread
/// returns its number when it ends, so lanes are reused; the ring indices of a
/// lane carry over to its next owner (the mutex orders the hand-over).
class ThreadNumber {
 public:
  ThreadNumber() {
    const std::scoped_lock lock(mutex_);
    while (value_ < PostedQueue::kLanes - 1 && taken_[value_]) ++value_;
    if (value_ < PostedQueue::kLanes - 1) taken_[value_] = true;
  }
  ~ThreadNumber() {
    const std::scoped_lock lock(mutex_);
    if (value_ < PostedQueue::kLanes - 1) taken_[value_] = false;
  }
  uint32_t value() const { return value_; }

 private:
  static inline std::mutex mutex_;
  static inline std::bitset<PostedQueue::kLanes> taken_;
  uint32_t value_ = 0;
};

uint32_t ThisThread() {
  static thread_local const ThreadNumber number;
  return number.value();
}

void Wait(const Waiting& waiting) {
  waiting.step != nullptr ? waiting.step(waiting.context) : std::this_thread::yield();
}

/// The lock of a queue's last lane. Not in the queue, where a device could hold it for ever.
/// Queues are longer than a megabyte: few share a lock, and then wait for each other.
std::mutex& LastLaneMutex(const PostedQueue& queue) {
  static std::array<std::mutex, 256> mutexes;
  return mutexes[(reinterpret_cast<uintptr_t>(&queue) >> 20) % mutexes.size()];
}

}  // namespace

class PostedQueue::LaneGuard {
 public:
  explicit LaneGuard(PostedQueue& queue) : LaneGuard(queue, ThisThread()) {}
  LaneGuard(const LaneGuard&) = delete;
  LaneGuard& operator=(const LaneGuard&) = delete;
  Lane& operator*() { return lane_; }

 private:
  LaneGuard(PostedQueue& queue, uint32_t thread)
      : lane_(queue.lanes_[thread]) {
    if (thread == kLanes - 1) lock_ = std::unique_lock(LastLaneMutex(queue));
    uint32_t used = queue.lanes_used_.load(std::memory_order_relaxed);
    // Other host threads make it fail once each at most.
    for (uint32_t tries = 0; used <= thread && tries < kLanes; ++tries) {
      if (queue.lanes_used_.compare_exchange_strong(used, thread + 1, std::memory_order_acq_rel)) {
        break;
      }
    }
  }

  Lane& lane_;
  std::unique_lock<std::mutex> lock_;  ///< Of the shared last lane.
};

void PostedQueue::GiveUp(uint32_t epoch) {
  link_.compare_exchange_strong(epoch, 0, std::memory_order_acq_rel);
}

/// Inline: more arguments than registers.
[[gnu::always_inline]] inline bool PostedQueue::Push(Lane& lane, uint32_t epoch,
                                                     RegisterAccess access, bool is_read,
                                                     const Waiting& waiting) {
  const uint32_t tail = lane.tail.load(std::memory_order_relaxed);
  if (tail - lane.cached_head == kDepth) {
    lane.cached_head = lane.head.load(std::memory_order_acquire);
    if (tail - lane.cached_head == kDepth) {
      const auto deadline = std::chrono::steady_clock::now() + kTimeout;
      while (tail - (lane.cached_head = lane.head.load(std::memory_order_acquire)) == kDepth) {
        if (link_.load(std::memory_order_acquire) != epoch) return false;
        if (std::chrono::steady_clock::now() > deadline) {
          GiveUp(epoch);
          return false;
        }
        Wait(waiting);
      }
    }
  }
  lane.entries[tail % kDepth] = {access.offset, static_cast<uint16_t>(epoch),
                                 static_cast<uint8_t>(access.bytes), is_read, access.value};
  // Release: everything the thread stored to memory before the register store is
  // visible to the device when it sees the entry.
  lane.tail.store(tail + 1, std::memory_order_release);
  return true;
}

void PostedQueue::Post(RegisterAccess access, const Waiting& waiting) {
  const uint32_t epoch = link_.load(std::memory_order_acquire);
  if (epoch == 0) return;
  LaneGuard lane(*this);
  Push(*lane, epoch, access, false, waiting);
}

uint64_t PostedQueue::Read(RegisterAccess access, const Waiting& waiting) {
  const uint64_t all_ones = access.bytes == 4 ? 0xffff'ffffu : ~uint64_t{0};
  const uint32_t epoch = link_.load(std::memory_order_acquire);
  if (epoch == 0) return all_ones;
  LaneGuard guard(*this);
  Lane& lane = *guard;
  const uint32_t sequence = ++lane.read_sequence;
  access.value = sequence;
  if (!Push(lane, epoch, access, true, waiting)) return all_ones;
  const auto deadline = std::chrono::steady_clock::now() + kTimeout;
  bool late = false;  // Looks once more: this process may have slept past the deadline.
  while (lane.reply_sequence.load(std::memory_order_acquire) != sequence) {
    if (link_.load(std::memory_order_acquire) != epoch) return all_ones;
    if (late) {
      GiveUp(epoch);
      return all_ones;
    }
    late = std::chrono::steady_clock::now() > deadline;
    if (!late) Wait(waiting);
  }
  return lane.reply_value.load(std::memory_order_relaxed);
}

}  // namespace sluice::bar
