// SPDX-License-Identifier: BSD-3-Clause
#include "bar/posted_queue.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <mutex>
#include <thread>

#include "cpu/process_patience.h"

namespace sluice::bar {
namespace {

/// Numbers the threads of the process that access a model's registers; each thread uses the lane
/// with its number. A thread releases its number when it ends, so lanes are reused. The next owner
/// of a lane continues with the lane's ring indices (the mutex orders the transfer).
class ThreadLane {
 public:
  /// Runs once per thread. Not inlined, because inlining would cost registers in each call of
  /// ThisThread().
  [[gnu::noinline]] ThreadLane() {
    const std::scoped_lock lock(mutex_);
    while (number_ < count_ - 1 && taken_[number_]) ++number_;
    taken_[number_] = true;
    lane_ = first_ + number_;
    shared_ = number_ == count_ - 1;
    used_ = uint64_t{1} << lane_;
  }
  ~ThreadLane() {
    const std::scoped_lock lock(mutex_);
    if (!shared_) taken_[number_] = false;
  }
  uint32_t lane() const { return lane_; }
  bool shared() const { return shared_; }
  uint64_t used() const { return used_; }  ///< Bit of the lane in PostedQueue::lanes_used_.

  /// Assigns `count` lanes, starting with `first`, to the threads of this process; the last lane is
  /// shared. Returns false if a thread already uses a lane outside this range.
  static bool Move(uint32_t first, uint32_t count) {
    const std::scoped_lock lock(mutex_);
    if (first == first_) return true;
    if (taken_.any()) return false;
    first_ = first;
    count_ = count;
    return true;
  }

 private:
  static inline std::mutex mutex_;
  static inline std::bitset<PostedQueue::kLanes> taken_;
  static inline uint32_t first_ = 0;
  static inline uint32_t count_ = PostedQueue::kOwnLanes;
  uint32_t number_ = 0;
  uint32_t lane_;
  bool shared_;
  uint64_t used_;
};

/// The part of a ThreadLane that Post uses.
struct OwnLane {
  uint64_t used = 0;    ///< ThreadLane::used(); 0 if the thread has no lane or a shared lane.
  uint64_t offset = 0;  ///< Offset of the lane in PostedQueue::lanes_, in bytes.
};

/// The calling thread's lane. It has no constructor, and its offset from the thread pointer is
/// fixed when the library is loaded, so that an access needs neither a guard nor a call.
[[gnu::tls_model("initial-exec")]] constinit thread_local OwnLane own_lane;

const ThreadLane& ThisThread() {
  static thread_local const ThreadLane lane;
  return lane;
}

void Wait(const Waiting& waiting) {
  // The pointers in `waiting` are valid only in the process that set them; other processes may use
  // the same queue.
  const bool ours = waiting.step != nullptr && waiting.process == getpid();
  ours ? waiting.step(waiting.context) : std::this_thread::yield();
}

/// Returns the lock of the lane that threads of this process share. The lock is not in the queue,
/// where a device could hold it forever. The address of the queue selects one of 256 locks. A queue
/// is longer than a megabyte, so two queues rarely have the same lock; if they do, their threads
/// wait for each other.
std::mutex& SharedLaneMutex(const PostedQueue& queue) {
  static std::array<std::mutex, 256> mutexes;
  return mutexes[(reinterpret_cast<uintptr_t>(&queue) >> 20) % mutexes.size()];
}

}  // namespace

class PostedQueue::LaneGuard {
 public:
  explicit LaneGuard(PostedQueue& queue) : LaneGuard(queue, ThisThread()) {}
  LaneGuard(const LaneGuard&) = delete;
  LaneGuard& operator=(const LaneGuard&) = delete;
  ~LaneGuard() {
    if (lock_ != nullptr) [[unlikely]]
      lock_->unlock();
  }
  Lane& operator*() const { return lane_; }

 private:
  LaneGuard(PostedQueue& queue, const ThreadLane& thread) : lane_(queue.lanes_[thread.lane()]) {
    if (thread.shared()) [[unlikely]] {
      lock_ = &SharedLaneMutex(queue);
      lock_->lock();
    } else {
      own_lane = {thread.used(), thread.lane() * sizeof(Lane)};
    }
    if ((queue.lanes_used_.load(std::memory_order_relaxed) & thread.used()) == 0) [[unlikely]] {
      queue.lanes_used_.fetch_or(thread.used(), std::memory_order_acq_rel);
    }
  }

  Lane& lane_;
  /// The locked mutex of the shared lane; null for other lanes. It is a plain pointer, because a
  /// pointer, unlike a std::unique_lock, stays in a register.
  std::mutex* lock_ = nullptr;
};

bool PostedQueue::BecomeGuest(uint32_t guest) {
  return ThreadLane::Move(kOwnLanes + guest * kGuestLanes, kGuestLanes);
}

PostedQueue::Layout PostedQueue::GetLayout() {
  static_assert(offsetof(PostedQueue, link_) == 0 && offsetof(PostedQueue, lanes_used_) == 8);
  return {.lanes = offsetof(PostedQueue, lanes_),
          .lane_bytes = sizeof(Lane),
          .entries = offsetof(Lane, entries),
          .head = offsetof(Lane, head),
          .reply_sequence = offsetof(Lane, reply_sequence),
          .reply_value = offsetof(Lane, reply_value)};
}

void PostedQueue::GiveUp(uint32_t epoch) {
  link_.compare_exchange_strong(epoch, 0, std::memory_order_acq_rel);
}

[[gnu::noinline]] bool PostedQueue::AwaitRoom(Lane& lane, uint32_t epoch, const Waiting& waiting) {
  const uint32_t full = lane.tail.load(std::memory_order_relaxed) - kDepth;
  cpu::ProcessPatience patience(kTimeout);
  while ((lane.cached_head = lane.head.load(std::memory_order_acquire)) == full) {
    if (link_.load(std::memory_order_acquire) != epoch) return false;
    if (patience.Ends(model_.load(std::memory_order_relaxed))) {
      GiveUp(epoch);
      return false;
    }
    Wait(waiting);
  }
  return true;
}

bool PostedQueue::Push(Lane& lane, uint32_t epoch, RegisterAccess access, bool is_read,
                       const Waiting& waiting) {
  const uint32_t tail = lane.tail.load(std::memory_order_relaxed);
  if (tail - lane.cached_head == kDepth) {
    lane.cached_head = lane.head.load(std::memory_order_acquire);
    if (tail - lane.cached_head == kDepth && !AwaitRoom(lane, epoch, waiting)) return false;
  }
  Store(lane, tail, epoch, access, is_read);
  return true;
}

inline void PostedQueue::Store(Lane& lane, uint32_t tail, uint32_t epoch, RegisterAccess access,
                               bool is_read) {
  Entry& entry = lane.entries[tail % kDepth];
  const uint64_t kind = uint64_t{tail / kDepth + 1} << 1 | (is_read ? 1 : 0);
  const uint64_t word = access.offset | uint64_t{static_cast<uint16_t>(epoch)} << 32 |
                        uint64_t{access.bytes} << 48 | kind << 56;
  std::atomic_ref(entry.value).store(access.value, std::memory_order_relaxed);
  std::atomic_ref(*reinterpret_cast<uint64_t*>(&entry)).store(word, std::memory_order_release);
  // Release order: the thread's earlier stores to memory are visible to a device that has loaded
  // the entry.
  lane.tail.store(tail + 1, std::memory_order_release);
}

void PostedQueue::Post(uint32_t offset, uint32_t bytes, uint64_t value, const Waiting& waiting) {
  const uint32_t epoch = link_.load(std::memory_order_acquire);
  if (epoch == 0) return;
  if ((lanes_used_.load(std::memory_order_relaxed) & own_lane.used) != 0) [[likely]] {
    uint8_t* const lanes = reinterpret_cast<uint8_t*>(&lanes_);
    Lane& lane = *reinterpret_cast<Lane*>(lanes + own_lane.offset);
    const uint32_t tail = lane.tail.load(std::memory_order_relaxed);
    if (tail - lane.cached_head != kDepth) [[likely]]
      return Store(lane, tail, epoch, {offset, bytes, value}, false);
  }
  PostInTurn({offset, bytes, value}, epoch, waiting);
}

[[gnu::noinline]] void PostedQueue::PostInTurn(RegisterAccess access, uint32_t epoch,
                                               const Waiting& waiting) {
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
  cpu::ProcessPatience patience(kTimeout);
  // Allows one more check after the deadline, because this process may have been suspended past it.
  bool late = false;
  while (lane.reply_sequence.load(std::memory_order_acquire) != sequence) {
    if (link_.load(std::memory_order_acquire) != epoch) return all_ones;
    if (late) {
      GiveUp(epoch);
      return all_ones;
    }
    late = patience.Ends(model_.load(std::memory_order_relaxed));
    if (!late) Wait(waiting);
  }
  return lane.reply_value.load(std::memory_order_relaxed);
}

}  // namespace sluice::bar
