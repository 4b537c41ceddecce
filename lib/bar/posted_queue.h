// SPDX-License-Identifier: BSD-3-Clause
//
// The path of posted writes from host threads to a device model: one single-producer ring ("lane")
// per host thread, with one entry per store, in order. A register read is an entry in the same
// ring, so that it comes after its thread's earlier writes.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <type_traits>

#include "bar/load_once.h"

namespace sluice::bar {

/// One register access. `bytes` is 4 or 8.
struct RegisterAccess {
  uint32_t offset;
  uint32_t bytes;
  uint64_t value;
};

/// The function that a host thread calls repeatedly while it waits for a model. It is passed with
/// each call, because the queue contains no pointers.
struct Waiting {
  void (*step)(void* context) = nullptr;  ///< Null: the thread yields the CPU.
  void* context = nullptr;
  /// Process in which the pointers are valid. In other processes that have a copy of this struct,
  /// the thread yields the CPU.
  pid_t process = 0;
};

/// A fixed-size queue without pointers, so that it can be placed in shared memory created by one
/// side. Neither side trusts the other's stores beyond the value of a register access: indices are
/// masked, counts are clamped, waits are bounded, and locks between the host's threads are not in
/// the queue.
///
/// Several processes can post, each to its own lanes: the process that created the queue, and
/// numbered guests.
///
/// A new epoch begins each time the link comes up. An entry is valid only in the epoch in which it
/// was posted, so that no entry from before a link reset reaches the device after it.
class PostedQueue {
 public:
  static constexpr uint32_t kLanes = 64;
  /// Number of lanes of the creating process. Its threads get one lane each; when all are in use,
  /// further threads share the last lane under a lock.
  static constexpr uint32_t kOwnLanes = 34;
  static constexpr uint32_t kGuestLanes = 2;
  static constexpr uint32_t kGuests = (kLanes - kOwnLanes) / kGuestLanes;
  static constexpr uint32_t kDepth = 1024;  ///< Entries per lane; a power of two.
  /// Maximum wait for a full lane or an unanswered read; then the link goes down. The limit is
  /// longer while the model's process is not scheduled (cpu/process_patience.h).
  static constexpr std::chrono::milliseconds kTimeout{2000};

  /// Makes the threads of this process use the lanes of `guest`, which must be below kGuests and
  /// not used by another running process. The host side must call it before this process posts to
  /// any queue. Returns false if a thread of this process already uses another lane.
  static bool BecomeGuest(uint32_t guest);

  /// See Bar. May be called by any host-side thread. Post accepts the parts of a RegisterAccess
  /// separately, because that costs fewer instructions.
  void Post(uint32_t offset, uint32_t bytes, uint64_t value, const Waiting& waiting = {});
  uint64_t Read(RegisterAccess access, const Waiting& waiting = {});
  bool LinkUp() const { return link_.load(std::memory_order_acquire) != 0; }

  /// Used by one thread of the device side. Calls `write(RegisterAccess)` for each posted store and
  /// answers each read with `read(RegisterAccess) -> uint64_t`, at most `budget` entries per lane.
  /// Discards entries from another epoch. Returns the number of processed and discarded entries.
  template <typename Write, typename ReadFn>
  uint32_t Drain(uint32_t budget, Write&& write, ReadFn&& read) {
    uint32_t handled = 0;
    const uint32_t link = link_.load(std::memory_order_acquire);
    uint64_t lanes = lanes_used_.load(std::memory_order_acquire);
    for (; lanes != 0; lanes &= lanes - 1) {
      Lane& lane = lanes_[std::countr_zero(lanes)];
      uint32_t head = lane.head.load(std::memory_order_relaxed);
      const uint32_t tail = lane.tail.load(std::memory_order_acquire);
      if (head == tail) continue;
      uint32_t left = budget;
      for (; head != tail && left != 0; ++head, --left, ++handled) {
        const Entry& entry = lane.entries[head % kDepth];
        if (LoadOnce(entry.epoch) != link) [[unlikely]]
          continue;
        const uint64_t value = LoadOnce(entry.value);
        RegisterAccess access{LoadOnce(entry.offset), LoadOnce(entry.bytes), value};
        if ((LoadOnce(entry.kind) & 1) == 0) {
          write(access);
          continue;
        }
        access.value = 0;
        lane.reply_value.store(read(access), std::memory_order_relaxed);
        lane.reply_sequence.store(static_cast<uint32_t>(value), std::memory_order_release);
      }
      lane.head.store(head, std::memory_order_release);
    }
    return handled;
  }

  /// Byte offsets of the parts of a queue, for a device that does not run this code: it recognizes
  /// new entries by their laps and stores `head` and the reply (device/grid/posted.h). The first 16
  /// bytes of a queue are link_, the newest epoch and lanes_used_.
  struct Layout {
    uint32_t lanes;
    uint32_t lane_bytes;
    uint32_t entries, head, reply_sequence, reply_value;  ///< Offsets within a lane.
  };
  static Layout GetLayout();
  /// Returns the number of entries of a lane that its device has processed, modulo 2^32. Used by
  /// the device side.
  uint32_t Head(uint32_t lane) const { return lanes_[lane].head.load(std::memory_order_acquire); }

  /// Makes the queue discard stores and return all ones for reads. May be called by either side.
  void MarkLinkDown() { link_.store(0, std::memory_order_release); }
  /// Sets the process in which the model runs; 0 if unknown. The host side calls it before the link
  /// comes up. A malicious device could store another process here; this extends waits by at most
  /// ProcessPatience::kMostBounds.
  void SetModelProcess(pid_t process) { model_.store(process, std::memory_order_relaxed); }
  /// Begins the next epoch and discards entries that were posted before. Used by one thread of the
  /// host side.
  void BringLinkUp() {
    if (++epoch_ == 0) epoch_ = 1;
    link_.store(epoch_, std::memory_order_release);
  }

 private:
  /// `value` is stored first, then the other half as one word. The lap in that word marks the entry
  /// as new, so a device that reads both halves at once need not read `tail`.
  struct Entry {
    uint32_t offset;
    uint16_t epoch;
    uint8_t bytes;
    uint8_t kind;  ///< Bit 0: read. Bits 1 … 7: lap of the ring, counted from 1.
    uint64_t value;
  };
  static_assert(sizeof(Entry) == 16 && kDepth % 2 == 0);

  /// Free-running indices, masked on use. The host thread that owns the lane writes `tail` and the
  /// entries; the device writes `head` and the reply.
  struct Lane {
    alignas(64) std::atomic<uint32_t> tail{0};
    uint32_t cached_head = 0;  ///< Copy of `head` that the host thread read last.
    uint32_t read_sequence = 0;
    alignas(64) std::atomic<uint32_t> head{0};
    std::atomic<uint32_t> reply_sequence{0};
    std::atomic<uint64_t> reply_value{0};
    alignas(64) std::array<Entry, kDepth> entries;
  };

  class LaneGuard;  // The calling thread's lane, locked if it is shared.
  /// Implements Post for a thread that posts for the first time, or whose lane is shared or full.
  void PostInTurn(RegisterAccess access, uint32_t epoch, const Waiting& waiting);
  static void Store(Lane& lane, uint32_t tail, uint32_t epoch, RegisterAccess access, bool is_read);
  /// Returns false if the link's epoch is no longer `epoch`.
  bool Push(Lane& lane, uint32_t epoch, RegisterAccess access, bool is_read,
            const Waiting& waiting);
  /// Waits until a full lane has a free entry. Returns false if the link's epoch is no longer
  /// `epoch`.
  bool AwaitRoom(Lane& lane, uint32_t epoch, const Waiting& waiting);
  /// Ends `epoch`, so that the link goes down, unless the epoch has already ended.
  void GiveUp(uint32_t epoch);

  std::atomic<uint32_t> link_{1};        ///< The current epoch; 0 while the link is down.
  uint16_t epoch_ = 1;                   ///< The newest epoch; used by the host side.
  std::atomic<uint64_t> lanes_used_{0};  ///< One bit per lane; bits are never cleared.
  std::atomic<pid_t> model_{0};          ///< The model's process.
  static_assert(kLanes == 64);
  std::array<Lane, kLanes> lanes_;
};
static_assert(std::is_standard_layout_v<PostedQueue> &&
              std::is_trivially_destructible_v<PostedQueue>);
static_assert(std::atomic<uint32_t>::is_always_lock_free &&
              std::atomic<uint64_t>::is_always_lock_free);

}  // namespace sluice::bar
