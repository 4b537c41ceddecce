// SPDX-License-Identifier: BSD-3-Clause
//
// The connection table of one worker: which backend a flow was given, so that it keeps it
// when the pool changes (Maglev, NSDI'16, section 3.3). Bounded, allocated once; a bucket is one
// cache line of four entries, and a flow has two buckets.
//
// A flow is known by 64 bits of a keyed hash of its VIP and 5-tuple, not by the tuple: two
// of 2^20 flows meet with a probability of 2^-25, and then share a backend of one VIP
// (`owner` is compared too).
//
// Every flow begins as opening, whatever its first packet: a SYN, another segment or a datagram.
// A packet that comes some milliseconds after the first one establishes it; one back to back with
// it does not, so that a flood that sends everything twice stays a flood. Opening flows have at
// most kMaxOpening slots of a bucket, which is half of the table: one more replaces the oldest of
// them. What is replaced for another new flow: an empty or idle entry (by its state's timeout),
// else the oldest of a bucket that is opening. An established flow is never evicted; it may move to
// its other bucket to make room for one that is not opening. Without room a flow is not recorded,
// and the ring alone decides about it.
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

/// Names a backend across table swaps: an index that is its own as long as it is in the
/// configuration, and a generation that changes when the index gets a new owner.
struct BackendRef {
  uint16_t index = 0;
  uint16_t generation = 0;  ///< 0: nobody.

  friend bool operator==(BackendRef, BackendRef) = default;
};

enum class ConnectionState : uint8_t { kEmpty, kOpening, kTcp, kClosing, kUdp, kUdpOpening };
/// Whether the flow was seen once, or back to back, or by SYNs alone: such entries are evicted
/// first.
constexpr bool IsOpening(ConnectionState state) {
  return state == ConnectionState::kOpening || state == ConnectionState::kUdpOpening;
}

/// A time: seconds, and 256ths of one.
struct Moment {
  static constexpr uint32_t kTicks = 256;  ///< Of a second: 3.9 ms each.

  uint32_t seconds = 0;
  uint32_t tick = 0;  ///< Below kTicks.
};

/// 16 bytes; four of them a line.
struct Connection {
  constexpr Connection() = default;
  constexpr Connection(uint64_t new_tag, BackendRef to, uint16_t seconds, uint8_t vip,
                       ConnectionState new_state)
      : tag(new_tag), backend(to), seen_s(seconds), owner(vip), state(new_state) {}

  uint64_t tag = 0;  ///< Keyed hash; see above.
  BackendRef backend;
  uint16_t seen_s = 0;  ///< Seconds, modulo 2^16: timeouts are below 32768 s.
  uint8_t owner = 0;    ///< Low bits of the VIP's index.
  ConnectionState state : 3 = ConnectionState::kEmpty;
  /// Of an opening flow: the tick of its first packet, or last SYN, modulo 32; else 0.
  uint8_t began : 5 = 0;
};
static_assert(sizeof(Connection) == 16);

class ConnectionTable {
 public:
  /// Longest timeout; longer ones are cut to it.
  static constexpr uint32_t kMaxTimeout = 32767;
  /// An entry that seems to be from the future by at most this many seconds is live: threads
  /// that count may be behind the worker.
  static constexpr uint32_t kAheadS = 8;

  /// Room for `capacity` flows: a quarter more entries than that, so that nearly all find a
  /// place in their two buckets, rounded up to a power of two, at least 8, at most 2^30.
  /// Touches all of them: memory comes from the node of the calling thread.
  ConnectionTable(uint32_t capacity, const Timeouts& timeouts);

  struct Hit {
    uint32_t place;  ///< For Update and Remove, until the next Insert.
    Connection entry;
  };

  // The worker alone:

  /// Fetches the line in which nearly all known flows are. The other one, which a new flow
  /// needs besides, would cost every packet a transfer from memory.
  void Prefetch(uint64_t tag) const {
    const Bucket* const line = &buckets_[FirstBucket(tag)];
    __builtin_prefetch(line);
    // To GCC a function that only fetches has no effect: it drops calls of it.
    asm volatile("" : : "r"(line));
  }

  /// The live entry of a flow. An entry that is idle for longer than its timeout is none.
  std::optional<Hit> Find(uint64_t tag, uint8_t owner, uint32_t seconds) const {
    const uint32_t first = FirstBucket(tag);
    if (auto hit = FindIn(first, tag, owner, seconds)) return hit;
    return FindIn(OtherBucket(first, tag), tag, owner, seconds);
  }

  /// The short half of Find and Touch, for a packet that opens and closes nothing: the backend
  /// of a live entry in `state` (kTcp or kUdp), which is seen now. Nobody: Find may know more.
  BackendRef FindSettled(uint64_t tag, uint8_t owner, ConnectionState state, uint32_t seconds) {
    Bucket& line = buckets_[FirstBucket(tag)];
    const uint32_t equal = EqualTags(line, tag);
    if (equal == 0) return {};
    uint64_t& word = line.details[static_cast<uint32_t>(std::countr_zero(equal))];
    // All but the backend at once: a flow with many packets was seen in this second.
    const uint32_t wanted =
        uint32_t{static_cast<uint8_t>(state)} << 24 | uint32_t{owner} << 16 | (seconds & 0xffff);
    const auto rest = static_cast<uint32_t>(word >> 32);
    if (rest != wanted) [[unlikely]] {
      if (rest >> 16 != wanted >> 16) return {};
      const Connection entry = std::bit_cast<Connection>(Words{tag, word});
      if (!IsLive(entry, seconds)) return {};
      Store(word, std::bit_cast<Words>(SeenAt(entry, seconds))[1]);
    }
    return std::bit_cast<BackendRef>(static_cast<uint32_t>(word));
  }

  /// Records a flow that Find did not find, as seen now for the first time, in a state other than
  /// kEmpty. False: there is no room.
  bool Insert(const Connection& flow, Moment now);

  /// Replaces all but the tag of an entry.
  void Update(uint32_t place, const Connection& entry) {
    uint64_t& word = buckets_[place / kSlots].details[place % kSlots];
    const uint64_t details = std::bit_cast<Words>(entry)[1];
    if (word != details) Store(word, details);  // A clean line need not be written back.
  }

  void Remove(uint32_t place) { Write(place / kSlots, place % kSlots, Connection()); }

  /// Forgets idle entries in the next 8192nd part of the table, at most once per value of
  /// `seconds`. Where it is called in one of three seconds at least, no entry lives again when
  /// the 16 bits of its time come round; else one that nothing replaced may, every 65536 s,
  /// for as long as its timeout.
  void Sweep(uint32_t seconds) {
    if (seconds != swept_s_) SweepPart(seconds);
  }

  /// A packet of the flow came: the entry's new state and time. An opening flow stays so while
  /// packets are back to back with the first. Else: kOpening → kTcp by a packet without SYN; FIN or
  /// RST → kClosing; a SYN reopens what is closing, begins again what is opening, and changes
  /// nothing about what is established. kUdpOpening → kUdp by any packet.
  static void Touch(Connection& entry, bool syn, bool fin_or_rst, Moment now);

  // Any thread, at any time (entries are two words, read and written relaxed: figures; one
  // entry in flight may be missed, or counted twice):

  /// Entries.
  uint32_t capacity() const { return (mask_ + 1) * kSlots; }
  /// Adds the live entries of each backend index below counts.size(), whatever their
  /// generation. Returns the number of live entries.
  uint64_t CountByBackend(std::span<uint32_t> counts, uint32_t seconds) const;

 private:
  static constexpr uint32_t kSlots = 4;
  static constexpr uint32_t kMaxOpening = 2;

  /// A connection as it is stored.
  using Words = std::array<uint64_t, 2>;
  /// Only the worker writes, so that it may read as if it were alone.
  struct alignas(64) Bucket {
    std::array<uint64_t, kSlots> tags;
    std::array<uint64_t, kSlots> details;
  };
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
  /// The other of a tag's two buckets, from either; never the same.
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
  /// A bit for each slot with the tag. Without a branch a slot: which one a flow is in cannot
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
  /// What of a bucket a new flow may have.
  struct Room {
    uint32_t free = kSlots;    ///< A slot that is empty or idle, or kSlots.
    uint32_t oldest = kSlots;  ///< Of those that are opening, or kSlots.
    uint32_t openings = 0;     ///< Live ones.
  };
  Room RoomIn(uint32_t bucket, uint32_t seconds) const;
  /// Puts a flow in the place of the oldest opening one, which is in `slot`.
  void Replace(uint32_t bucket, uint32_t slot, const Connection& entry);
  /// The same in either bucket, the second first, a free slot of which comes before.
  bool InsertCrowded(const Connection& entry, const Room& first_room, uint32_t seconds);
  void SweepPart(uint32_t seconds);

  std::unique_ptr<Bucket[], Free> buckets_;
  uint32_t mask_;                 ///< Buckets, a power of two, less one.
  std::array<uint32_t, 6> ends_;  ///< By state: age, plus kAheadS, from which it is idle.
  uint32_t sweep_at_ = 0;         ///< The next bucket to sweep.
  uint32_t swept_s_ = 0;
};

}  // namespace sluice::engine::maglev
