// SPDX-License-Identifier: BSD-3-Clause
//
// The posted-write path from host threads to a device model: one single-producer
// ring ("lane") per host thread, every store an entry, in order. A register read
// is an entry of the same ring, so that it travels behind its thread's writes.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace sluice::bar {

/// One register access. `bytes` is 4 or 8.
struct RegisterAccess {
  uint32_t offset;
  uint32_t bytes;
  uint64_t value;
};

/// Fixed-size, position-independent (no pointers): may live in shared memory.
class PostedQueue {
 public:
  static constexpr uint32_t kLanes =
      64;  ///< Host threads with a lane of their own; later ones share the last under a lock.
  static constexpr uint32_t kDepth = 1024;  ///< Entries of a lane; power of two.
  /// How long a full lane or an unanswered read is waited for before the link
  /// counts as down.
  static constexpr std::chrono::milliseconds kTimeout{2000};

  /// Host side, any thread. See Bar.
  void Post(RegisterAccess access);
  uint64_t Read(RegisterAccess access);
  bool LinkUp() const { return link_up_.load(std::memory_order_acquire); }

  /// Device side, one thread. Calls `write(RegisterAccess)` for each posted store
  /// and answers each read with `read(RegisterAccess) -> uint64_t`, at most
  /// `budget` entries a lane. Returns the number handled.
  template <typename Write, typename ReadFn>
  uint32_t Drain(uint32_t budget, Write&& write, ReadFn&& read) {
    uint32_t handled = 0;
    const uint32_t lanes = lanes_used_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < lanes; ++i) {
      Lane& lane = lanes_[i];
      uint32_t head = lane.head.load(std::memory_order_relaxed);
      const uint32_t tail = lane.tail.load(std::memory_order_acquire);
      if (head == tail) continue;
      uint32_t left = budget;
      for (; head != tail && left != 0; ++head, --left, ++handled) {
        const RegisterAccess access = lane.entries[head % kDepth];
        if ((access.bytes & kReadFlag) == 0) {
          write(access);
          continue;
        }
        lane.reply_value.store(read(RegisterAccess{access.offset, access.bytes & ~kReadFlag, 0}),
                               std::memory_order_relaxed);
        lane.reply_sequence.store(static_cast<uint32_t>(access.value), std::memory_order_release);
      }
      lane.head.store(head, std::memory_order_release);
    }
    return handled;
  }

  /// Either side: stores are discarded and reads return all ones from now on.
  void TakeLinkDown() { link_up_.store(false, std::memory_order_release); }

 private:
  static constexpr uint32_t kReadFlag = 1u << 31;

  /// Free-running indices, masked on use. The host thread that owns the lane
  /// writes `tail` and the entries, the device writes `head` and the reply.
  struct Lane {
    alignas(64) std::atomic<uint32_t> tail{0};
    uint32_t cached_head = 0;  ///< Host's last view of `head`.
    uint32_t read_sequence = 0;
    std::atomic_flag shared_lock = ATOMIC_FLAG_INIT;  ///< Taken only on the shared last lane.
    alignas(64) std::atomic<uint32_t> head{0};
    std::atomic<uint32_t> reply_sequence{0};
    std::atomic<uint64_t> reply_value{0};
    alignas(64) std::array<RegisterAccess, kDepth> entries;
  };

  class LaneGuard;  // the calling thread's lane, locked if it is shared
  bool Push(Lane& lane, RegisterAccess access);

  std::atomic<bool> link_up_{true};
  std::atomic<uint32_t> lanes_used_{0};
  std::array<Lane, kLanes> lanes_;
};

}  // namespace sluice::bar
