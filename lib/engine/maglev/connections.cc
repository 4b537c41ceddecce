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
/// Sweeps that visit the whole table once. An idle entry seems to be live again 32760 s after
/// the longest timeout at the earliest: three seconds for each sweep, and some to spare.
constexpr uint32_t kSweeps = 8192;
static_assert((1u << 16) - ConnectionTable::kAheadS - ConnectionTable::kMaxTimeout > 3 * kSweeps);

/// Zeroed memory; large tables on huge pages, where the host has them.
void* AllocateLines(size_t bytes) {
  constexpr size_t kLine = 64;
  constexpr size_t kHugePage = size_t{2} << 20;
  const bool large = bytes >= kHugePage;  // A power of two: then a multiple of a huge page.
  void* lines = std::aligned_alloc(large ? kHugePage : kLine, bytes);
  if (lines == nullptr) throw std::bad_alloc();
  if (large) madvise(lines, bytes, MADV_HUGEPAGE);  // A hint.
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

uint32_t ConnectionTable::Room(uint32_t bucket, uint32_t seconds) const {
  uint32_t room = kSlots;
  int oldest_age = -1;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const Connection entry = Read(bucket, slot);
    if (!IsLive(entry, seconds)) return slot;
    if (!IsOpening(entry.state)) continue;
    const int age = static_cast<uint16_t>(seconds + kAheadS - entry.seen_s);
    if (age <= oldest_age) continue;
    room = slot;
    oldest_age = age;
  }
  return room;
}

bool ConnectionTable::InsertCrowded(const Connection& entry, uint32_t seconds) {
  const uint32_t first = FirstBucket(entry.tag);
  const uint32_t candidates[] = {OtherBucket(first, entry.tag), first};
  // The first bucket has no free entry, or Insert had taken it: a free one of the second comes
  // before one that is opening.
  for (const uint32_t bucket : candidates) {
    uint32_t slot = Room(bucket, seconds);
    if (slot == kSlots) continue;
    // Opening flows of one second stay in the order of their arrival, so that a flood evicts its
    // own packets before a flow that waits for its second packet.
    for (uint32_t next = slot + 1; next < kSlots; ++next) {
      const Connection later = Read(bucket, next);
      if (!IsOpening(later.state)) continue;
      Write(bucket, slot, later);
      slot = next;
    }
    Write(bucket, slot, entry);
    return true;
  }
  // Flows that may be a flood do not get to read eight more lines each.
  if (IsOpening(entry.state)) return false;
  for (const uint32_t bucket : candidates) {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      const Connection guest = Read(bucket, slot);
      const uint32_t home = OtherBucket(bucket, guest.tag);
      const uint32_t room = Room(home, seconds);
      if (room == kSlots) continue;
      Write(home, room, guest);
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
