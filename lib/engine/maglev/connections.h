// SPDX-License-Identifier: BSD-3-Clause
//
// One worker's connection table: records the backend of each flow, so that the flow stays with its
// backend when the pool changes (Maglev, NSDI'16, section 3.3). The table is allocated once and
// never grows. A bucket is one cache line of four entries, and a flow has two buckets.
//
// The key is a 64-bit keyed hash of the flow's 5-tuple, and the tuple is not stored. Two of 2^20
// flows collide with a probability of 2^-25. Colliding flows share a backend only if they belong to
// the same VIP, because `owner` is compared, too.
//
// Every flow starts as opening, whether its first packet is a SYN, another segment or a datagram. A
// packet that arrives a few milliseconds after the first one establishes it. A packet back to back
// with the first one does not, so a flood that sends everything twice is still a flood. Opening
// flows use at most kMaxOpening slots of a bucket, thus at most half of the table; a further
// opening flow replaces the oldest one in the bucket. A new flow uses an empty entry, or an entry
// that is idle for longer than the timeout of its state; otherwise it replaces the oldest opening
// entry of a bucket. Established flows are never evicted. They may move to their second bucket to
// make room for a flow that is not opening. A flow that does not fit is not recorded, and the table
// does not affect the choice of its backend.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include "cpu/vector.h"
#include "engine/maglev/setup.h"

namespace sluice::engine::maglev {

/// Identifies a backend across table swaps. `index` is unique while the backend is in the
/// configuration. `generation` changes when the index is reassigned to another backend, when the
/// backend comes back up, and when its address changes.
struct BackendRef {
  uint16_t index = 0;
  uint16_t generation = 0;  ///< 0: no backend.

  /// Returns both members in one word, as they are stored in an entry; 0 if there is no backend.
  constexpr uint32_t word() const { return std::bit_cast<uint32_t>(*this); }
  friend bool operator==(BackendRef, BackendRef) = default;
};

enum class ConnectionState : uint8_t { kEmpty, kOpening, kTcp, kClosing, kUdp, kUdpOpening };
/// Returns whether the flow is not established yet: one packet, packets back to back, or only SYNs
/// were seen. Entries of such flows are evicted first.
constexpr bool IsOpening(ConnectionState state) {
  return state == ConnectionState::kOpening || state == ConnectionState::kUdpOpening;
}

/// A time in seconds and 256ths of a second.
struct Moment {
  static constexpr uint32_t kTicks = 256;  ///< Ticks of a second: 3.9 ms each.

  uint32_t seconds = 0;
  uint32_t tick = 0;  ///< Below kTicks.
};

/// An entry of 16 bytes; four fill a cache line.
struct Connection {
  constexpr Connection() = default;
  constexpr Connection(uint64_t new_tag, BackendRef to, uint16_t seconds, uint8_t vip,
                       ConnectionState new_state)
      : tag(new_tag), backend(to), seen_s(seconds), owner(vip), state(new_state) {}

  uint64_t tag = 0;  ///< Keyed hash of the flow.
  BackendRef backend;
  uint16_t seen_s = 0;  ///< Second of the last packet, modulo 2^16: timeouts are below 32768 s.
  uint8_t owner = 0;    ///< Low bits of the VIP's index.
  ConnectionState state : 3 = ConnectionState::kEmpty;
  /// Opening flows: tick of the first packet or last SYN, modulo 32; else 0.
  uint8_t began : 5 = 0;
};
static_assert(sizeof(Connection) == 16);

class ConnectionTable {
 public:
  /// Maximum timeout in seconds; longer timeouts are reduced to it.
  static constexpr uint32_t kMaxTimeout = 32767;
  /// Entries up to this many seconds in the future are live, because the clock of a thread that
  /// counts entries may be behind.
  static constexpr uint32_t kAheadS = 8;

  /// Creates a table for `capacity` flows. The table has a quarter more entries, so that nearly all
  /// flows fit into one of their two buckets; the number is rounded up to a power of two, at least
  /// 8, at most 2^30. Touches all entries, so the memory comes from the NUMA node of the calling
  /// thread.
  ConnectionTable(uint32_t capacity, const Timeouts& timeouts);

  static constexpr uint32_t kSlots = 4;  ///< Entries of a bucket.
  /// A cache line of entries, each as its two words. Only the worker writes, so it may read without
  /// atomics.
  struct alignas(64) Bucket {
    std::array<uint64_t, kSlots> tags;
    std::array<uint64_t, kSlots> details;
  };
  struct Hit {
    uint32_t place;  ///< Valid for Update and Remove until the next Insert.
    Connection entry;
  };

  // Only the worker may call the following functions.

  /// Prefetches the first bucket of a flow, which contains nearly all known flows, and returns it.
  /// Prefetching the second one, which only a new flow needs, would cost every packet a transfer
  /// from memory.
  Bucket* Prefetch(uint64_t tag) {
    Bucket* const line = &buckets_[FirstBucket(tag)];
    __builtin_prefetch(line);
    // GCC assumes that a function that only prefetches has no effect, and would drop its calls.
    asm volatile("" : : "r"(line));
    return line;
  }

  /// Returns the entry of a flow unless it has been idle for longer than its timeout.
  std::optional<Hit> Find(uint64_t tag, uint8_t owner, uint32_t seconds) const {
    const uint32_t first = FirstBucket(tag);
    if (auto hit = FindIn(first, tag, owner, seconds)) return hit;
    return FindIn(OtherBucket(first, tag), tag, owner, seconds);
  }

  /// Fast path of Find and Touch for a packet that neither opens nor closes a flow: returns the
  /// backend of a live entry in `state` (kTcp or kUdp), as BackendRef::word, and updates its time.
  /// `line` is the result of Prefetch. If this function returns 0, Find must be called, which also
  /// searches the second bucket.
  [[gnu::always_inline]] uint32_t FindSettled(Bucket& line, uint64_t tag, uint8_t owner,
                                              ConnectionState state, uint32_t seconds) {
    const uint32_t equal = EqualTags(line, tag);
    if (equal == 0) [[unlikely]]
      return 0;
    uint64_t& word = line.details[static_cast<uint32_t>(std::countr_zero(equal))];
    // Compares state, owner and time at once: a flow with many packets has usually been seen in
    // this second already.
    const uint32_t wanted =
        uint32_t{static_cast<uint8_t>(state)} << 24 | uint32_t{owner} << 16 | (seconds & 0xffff);
    const auto rest = static_cast<uint32_t>(word >> 32);
    if (rest != wanted) [[unlikely]] {
      if (rest >> 16 != wanted >> 16) return 0;
      const Connection entry = std::bit_cast<Connection>(Words{tag, word});
      if (!IsLive(entry, seconds)) return 0;
      Store(word, std::bit_cast<Words>(SeenAt(entry, seconds))[1]);
    }
    return static_cast<uint32_t>(word);
  }

  /// Records a flow that Find did not find. `now` is the time of its first packet. The state of
  /// `flow` must not be kEmpty. Returns false if the flow does not fit.
  bool Insert(const Connection& flow, Moment now);

  /// Replaces an entry except for its tag.
  void Update(uint32_t place, const Connection& entry) {
    uint64_t& word = buckets_[place / kSlots].details[place % kSlots];
    const uint64_t details = std::bit_cast<Words>(entry)[1];
    if (word != details) Store(word, details);  // Unmodified cache lines need no write-back.
  }

  void Remove(uint32_t place) { Write(place / kSlots, place % kSlots, Connection()); }

  /// Removes idle entries from the next 1/8192 of the table, at most once per value of `seconds`.
  /// Must be called at least every three seconds. Otherwise an idle entry could become live again
  /// every 65536 s, when its 16-bit time wraps, for as long as its timeout.
  void Sweep(uint32_t seconds) {
    if (seconds != swept_s_) SweepPart(seconds);
  }

  /// Updates state and time of an entry for a packet of its flow. An opening flow stays opening
  /// while packets are back to back with the first one. Otherwise, a packet without SYN moves
  /// kOpening to kTcp, and any packet moves kUdpOpening to kUdp. FIN or RST moves TCP to kClosing.
  /// A SYN reopens a closing flow, restarts an opening one, and does not change an established one.
  static void Touch(Connection& entry, bool syn, bool fin_or_rst, Moment now);

  // Any thread may call the following functions at any time. Entries are two words that are loaded
  // and stored relaxed, so the results are statistics: an entry that changes during the call may be
  // missed or counted twice.

  /// Returns the number of entries.
  uint32_t capacity() const { return (mask_ + 1) * kSlots; }
  /// Adds to `counts`, for each backend index below counts.size(), the number of live entries,
  /// regardless of their generation. Returns the total number of live entries.
  uint64_t CountByBackend(std::span<uint32_t> counts, uint32_t seconds) const;

 private:
  static constexpr uint32_t kMaxOpening = 2;

  /// A Connection as stored.
  using Words = std::array<uint64_t, 2>;
  struct Free {
    void operator()(Bucket* buckets) const { std::free(buckets); }
  };

  static void Store(uint64_t& word, uint64_t value) {
    std::atomic_ref<uint64_t>(word).store(value, std::memory_order_relaxed);
  }
  static Connection SeenAt(Connection entry, uint32_t seconds) {
    entry.seen_s = static_cast<uint16_t>(seconds);
    return entry;
  }

  uint32_t FirstBucket(uint64_t tag) const { return static_cast<uint32_t>(tag) & mask_; }
  /// Returns the second bucket of a tag if `bucket` is the first one, and vice versa. The two
  /// always differ.
  uint32_t OtherBucket(uint32_t bucket, uint64_t tag) const {
    return bucket ^ ((static_cast<uint32_t>(tag >> 32) | 1) & mask_);
  }
  Connection Read(uint32_t bucket, uint32_t slot) const {
    const Bucket& line = buckets_[bucket];
    return std::bit_cast<Connection>(Words{line.tags[slot], line.details[slot]});
  }
  void Write(uint32_t bucket, uint32_t slot, const Connection& entry) {
    const Words words = std::bit_cast<Words>(entry);
    Store(buckets_[bucket].tags[slot], words[0]);
    Store(buckets_[bucket].details[slot], words[1]);
  }
  bool IsLive(const Connection& entry, uint32_t seconds) const {
    const uint16_t age = static_cast<uint16_t>(seconds + kAheadS - entry.seen_s);
    return age < ends_[static_cast<size_t>(entry.state)];
  }
  /// Returns a bit per slot that contains the tag. Branch-free, because the slot of a flow cannot
  /// be predicted.
  static uint32_t EqualTags(const Bucket& line, uint64_t tag) {
    static_assert(kSlots == 4);
    return cpu::EqualOf4(line.tags.data(), tag);
  }
  std::optional<Hit> FindIn(uint32_t bucket, uint64_t tag, uint8_t owner, uint32_t seconds) const {
    const Bucket& line = buckets_[bucket];
    for (uint32_t equal = EqualTags(line, tag); equal != 0; equal &= equal - 1) {
      const auto slot = static_cast<uint32_t>(std::countr_zero(equal));
      const Connection entry = Read(bucket, slot);
      if (entry.owner == owner && IsLive(entry, seconds)) {
        return Hit{bucket * kSlots + slot, entry};
      }
    }
    return std::nullopt;
  }
  /// The slots of a bucket that a new flow may use.
  struct Room {
    uint32_t free = kSlots;    ///< An empty or idle slot, or kSlots.
    uint32_t oldest = kSlots;  ///< The oldest opening slot, or kSlots.
    uint32_t openings = 0;     ///< Number of live opening entries.
  };
  Room RoomIn(uint32_t bucket, uint32_t seconds) const;
  /// Replaces the oldest opening flow, which is in `slot`.
  void Replace(uint32_t bucket, uint32_t slot, const Connection& entry);
  /// Inserts a flow whose first bucket has no free slot. Uses a free slot of the second bucket. If
  /// there is none, replaces the oldest opening flow of either bucket. If there is none and the new
  /// flow is not opening, moves an established flow to that flow's other bucket. Returns false if
  /// none of this is possible.
  bool InsertCrowded(const Connection& entry, const Room& first_room, uint32_t seconds);
  void SweepPart(uint32_t seconds);

  std::unique_ptr<Bucket[], Free> buckets_;
  uint32_t mask_;  ///< Number of buckets, a power of two, minus 1.
  /// Indexed by state: age in seconds, plus kAheadS, at which an entry is idle.
  std::array<uint32_t, 6> ends_;
  uint32_t sweep_at_ = 0;  ///< The next bucket to sweep.
  uint32_t swept_s_ = 0;
};

}  // namespace sluice::engine::maglev
