// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/connections.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace sluice::engine::maglev {
namespace {

constexpr uint64_t kMinEntries = 8;
constexpr uint64_t kMaxEntries = 1u << 30;
/// Modulus of Connection::began; divides Moment::kTicks.
constexpr uint32_t kBeganTicks = 32;
static_assert(Moment::kTicks % kBeganTicks == 0);
/// Number of Sweep calls that together visit the whole table once. An idle entry looks live again
/// no earlier than 32761 s after the longest timeout, which suffices for kSweeps calls at intervals
/// of three seconds.
constexpr uint32_t kSweeps = 8192;
static_assert((1u << 16) - ConnectionTable::kAheadS - ConnectionTable::kMaxTimeout > 3 * kSweeps);

/// Allocates zeroed memory. Large tables use huge pages if the host has them.
void* AllocateLines(size_t bytes) {
  constexpr size_t kLine = 64;
  constexpr size_t kHugePage = size_t{2} << 20;
  // `bytes` is a power of two, so a large value is a multiple of the huge page size.
  const bool large = bytes >= kHugePage;
  void* lines = std::aligned_alloc(large ? kHugePage : kLine, bytes);
  if (lines == nullptr) throw std::bad_alloc();
  if (large) madvise(lines, bytes, MADV_HUGEPAGE);  // Only a hint.
  std::memset(lines, 0, bytes);
  return lines;
}

}  // namespace

ConnectionTable::ConnectionTable(uint32_t capacity, const Timeouts& timeouts) {
  const uint64_t wanted = uint64_t{capacity} + capacity / 4;
  const uint64_t entries = std::bit_ceil(std::clamp(wanted, kMinEntries, kMaxEntries));
  mask_ = static_cast<uint32_t>(entries / kSlots - 1);
  buckets_.reset(static_cast<Bucket*>(AllocateLines((size_t{mask_} + 1) * sizeof(Bucket))));
  const auto end = [](uint32_t timeout_s) {
    return std::min(timeout_s, kMaxTimeout) + kAheadS + 1;
  };
  ends_ = {0,
           end(timeouts.tcp_opening_s),
           end(timeouts.tcp_s),
           end(timeouts.tcp_closing_s),
           end(timeouts.udp_s),
           end(timeouts.udp_s)};
}

void ConnectionTable::Touch(Connection& entry, bool syn, bool fin_or_rst, Moment now) {
  using enum ConnectionState;
  const auto silent_s = static_cast<uint16_t>(now.seconds - entry.seen_s);
  entry.seen_s = static_cast<uint16_t>(now.seconds);
  if (entry.state == kUdp || entry.state == kEmpty) return;
  if (IsOpening(entry.state)) {
    // `began` wraps after an eighth of a second. Therefore one in sixteen of the later packets
    // counts as back to back with the first one; the flow's next packet establishes it.
    const uint32_t ticks = (now.tick - entry.began) % kBeganTicks;
    const bool tcp = entry.state == kOpening;
    if (tcp && syn && !fin_or_rst) {
      entry.began = now.tick % kBeganTicks;
    } else if (silent_s > 1 || ticks > 1) {
      entry.state = !tcp ? kUdp : fin_or_rst ? kClosing : kTcp;
      entry.began = 0;
    }
  } else if (fin_or_rst) {
    entry.state = kClosing;
  } else if (syn && entry.state == kClosing) {
    entry.state = kOpening;
    entry.began = now.tick % kBeganTicks;
  }
}

ConnectionTable::Room ConnectionTable::RoomIn(uint32_t bucket, uint32_t seconds) const {
  Room room;
  int oldest_age = -1;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const Connection entry = Read(bucket, slot);
    if (!IsLive(entry, seconds)) {
      if (room.free == kSlots) room.free = slot;
      continue;
    }
    if (!IsOpening(entry.state)) continue;
    ++room.openings;
    const int age = static_cast<uint16_t>(seconds + kAheadS - entry.seen_s);
    if (age <= oldest_age) continue;
    room.oldest = slot;
    oldest_age = age;
  }
  return room;
}

bool ConnectionTable::Insert(const Connection& flow, Moment now) {
  Connection entry = flow;
  const bool opening = IsOpening(entry.state);
  entry.seen_s = static_cast<uint16_t>(now.seconds);
  entry.began = opening ? now.tick % kBeganTicks : 0;
  const uint32_t bucket = FirstBucket(entry.tag);
  const Room room = RoomIn(bucket, now.seconds);
  if (opening && room.openings >= kMaxOpening) {
    Replace(bucket, room.oldest, entry);
  } else if (room.free != kSlots) {
    Write(bucket, room.free, entry);
  } else {
    return InsertCrowded(entry, room, now.seconds);
  }
  return true;
}

void ConnectionTable::Replace(uint32_t bucket, uint32_t slot, const Connection& entry) {
  // Opening flows of the same second stay in order of arrival. A flood therefore evicts its own
  // packets before it evicts a flow that waits for its second packet.
  for (uint32_t next = slot + 1; next < kSlots; ++next) {
    const Connection later = Read(bucket, next);
    if (!IsOpening(later.state)) continue;
    Write(bucket, slot, later);
    slot = next;
  }
  Write(bucket, slot, entry);
}

bool ConnectionTable::InsertCrowded(const Connection& entry, const Room& first_room,
                                    uint32_t seconds) {
  const bool opening = IsOpening(entry.state);
  const uint32_t first = FirstBucket(entry.tag);
  const uint32_t other = OtherBucket(first, entry.tag);
  const Room room = RoomIn(other, seconds);
  if (room.free != kSlots && !(opening && room.openings >= kMaxOpening)) {
    Write(other, room.free, entry);
    return true;
  }
  if (room.oldest != kSlots) {
    Replace(other, room.oldest, entry);
    return true;
  }
  if (first_room.oldest != kSlots) {
    Replace(first, first_room.oldest, entry);
    return true;
  }
  // A flow that may be part of a flood must not cause reads of eight more cache lines.
  if (opening) return false;
  for (const uint32_t bucket : {other, first}) {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      const Connection guest = Read(bucket, slot);
      const uint32_t home = OtherBucket(bucket, guest.tag);
      const Room room_at_home = RoomIn(home, seconds);
      const uint32_t to = room_at_home.free != kSlots ? room_at_home.free : room_at_home.oldest;
      if (to == kSlots) continue;
      Write(home, to, guest);
      Write(bucket, slot, entry);
      return true;
    }
  }
  return false;
}

void ConnectionTable::SweepPart(uint32_t seconds) {
  swept_s_ = seconds;
  for (uint32_t i = 0; i < mask_ / kSweeps + 1; ++i) {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      const Connection entry = Read(sweep_at_, slot);
      const bool used = entry.state != ConnectionState::kEmpty;
      if (used && !IsLive(entry, seconds)) Write(sweep_at_, slot, Connection());
    }
    sweep_at_ = (sweep_at_ + 1) & mask_;
  }
}

uint64_t ConnectionTable::CountByBackend(std::span<uint32_t> counts, uint32_t seconds) const {
  uint64_t live = 0;
  for (uint32_t i = 0; i <= mask_; ++i) {
    for (uint64_t& word : buckets_[i].details) {
      const uint64_t details = std::atomic_ref<uint64_t>(word).load(std::memory_order_relaxed);
      const Connection entry = std::bit_cast<Connection>(Words{0, details});
      if (!IsLive(entry, seconds)) continue;
      ++live;
      if (entry.backend.index < counts.size()) ++counts[entry.backend.index];
    }
  }
  return live;
}

}  // namespace sluice::engine::maglev
