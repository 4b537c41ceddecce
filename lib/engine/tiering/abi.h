// SPDX-License-Identifier: BSD-3-Clause
//
// What a host with two tiers of memory and its agent tell each other. Small things travel as items
// of a channel: a tick of the host's, that a piece of scan results is there, that a piece of
// decisions is there, what became of each. Scan results and the elements of a decision are bulk
// (bulk.h), which an item names. What is decoded was written by a peer: any value may come out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "offload/item.h"

namespace sluice::engine::tiering {

using Vpn = uint32_t;     ///< Virtual page number, from 0.
using Region = uint32_t;  ///< kRegionPages pages next to each other, from 0.
/// Of a page table: grows when any page is mapped, unmapped, remapped or migrated. A page keeps
/// the value of its last change, so `page <= seen` says that nothing happened to it since.
using Generation = uint64_t;

/// A region's bits of one kind are one word.
inline constexpr uint32_t kRegionPages = 64;
inline constexpr uint32_t kMaxPages = 1u << 30;

/// Periods are base << arm: 0.3 … 9.6 s (SOL's arms), in ticks of 0.3 s.
inline constexpr uint32_t kArms = 6;
inline constexpr uint64_t kTickNanoseconds = 300'000'000;
constexpr uint32_t PeriodTicks(uint32_t arm) { return 1u << arm; }
inline constexpr uint32_t kSlowestTicks = PeriodTicks(kArms - 1);
/// An arm is kept for four periods of the slowest.
inline constexpr uint32_t kEpochTicks = 4 * kSlowestTicks;

enum class Tier : uint8_t { kFast, kSlow };

/// A region's access bits, which the scan cleared. Bit i is page 64 · region + i.
struct ScanRecord {
  Region region = 0;
  uint32_t ticks = 0;         ///< That the bits cover: since the scan before.
  Generation generation = 0;  ///< Of the table, then.
  uint64_t accessed = 0;
  uint64_t mapped = 0;
  uint64_t fast = 0;
  uint64_t fresh = 0;  ///< Became another page since the scan before.

  friend bool operator==(const ScanRecord&, const ScanRecord&) = default;
};
static_assert(sizeof(ScanRecord) == 48 && std::has_unique_object_representations_v<ScanRecord>);

/// One wish of an agent: fulfilled as a whole or not at all.
struct Element {
  enum Kind : uint8_t { kMigrate, kScanPeriod };

  uint32_t first = 0;  ///< kMigrate: a page; kScanPeriod: a region.
  uint16_t count = 0;  ///< From there on.
  uint8_t kind = kMigrate;
  uint8_t value = 0;          ///< A Tier, or an arm.
  Generation generation = 0;  ///< kMigrate: what the agent had seen.

  friend bool operator==(const Element&, const Element&) = default;
};
static_assert(sizeof(Element) == 16 && std::has_unique_object_representations_v<Element>);
/// Of one decision: how each ended is a bit of its outcome.
inline constexpr uint32_t kMaxElements = 64;
/// Pages of one element.
inline constexpr uint32_t kMaxRangePages = kRegionPages;

inline constexpr uint16_t kAbiVersion = 1;

/// Bulk that does not have the sum its item says is not what was meant.
inline uint32_t Checksum(std::span<const std::byte> bytes) {
  uint64_t sum = 0x9e37'79b9'7f4a'7c15 ^ bytes.size();
  for (const std::byte b : bytes) sum = (sum ^ static_cast<uint8_t>(b)) * 0x100'0000'01b3;
  return static_cast<uint32_t>(sum ^ sum >> 32);
}

/// Host to agent.
enum class EventKind : uint8_t {
  kGeometry = 1,  ///< To an agent that knows nothing.
  kScans,         ///< A piece of ScanRecords.
  kTick,          ///< The end of a tick.
};

struct Event {
  EventKind kind = EventKind::kTick;
  uint16_t version = kAbiVersion;
  uint32_t tick = 0;
  // kGeometry: pages, fast pages there can be; kScans: piece, records in it; kTick: fast pages
  // in use, 0.
  uint32_t a = 0, b = 0;
  // kScans: sequence from 1, checksum; kTick: accesses to the fast and to the slow tier in it, as
  // a processor's counters have them.
  uint64_t c = 0, d = 0;

  friend bool operator==(const Event&, const Event&) = default;
};

/// Agent to host: the piece of this slot's number holds `elements` of them.
struct Decision {
  uint16_t version = kAbiVersion;
  uint16_t elements = 0;
  uint32_t checksum = 0;
  uint64_t scans_seen = 0;  ///< Sequence of the newest piece of scans that may be overwritten.
  uint64_t number = 0;      ///< The agent's, for the log.

  friend bool operator==(const Decision&, const Decision&) = default;
};

/// Whether a decision was one at all.
enum class Verdict : uint8_t { kUnderstood, kBadVersion, kBadCount, kBadChecksum, kBadSequence };
inline constexpr uint32_t kVerdicts = 5;

/// Host to agent.
struct Outcome {
  Verdict verdict = Verdict::kUnderstood;
  uint64_t number = 0;
  uint64_t done = 0;  ///< Bit i: element i was fulfilled.
  Generation generation = 0;
  uint32_t fast_used = 0;
  uint32_t fast_capacity = 0;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

constexpr offload::Item Encode(const Event& e) {
  return {{static_cast<uint64_t>(e.kind) | uint64_t{e.version} << 16 | uint64_t{e.tick} << 32,
           e.a | uint64_t{e.b} << 32, e.c, e.d, 0}};
}
constexpr Event DecodeEvent(const offload::Item& item) {
  const auto& w = item.word;
  return {.kind = static_cast<EventKind>(w[0]),
          .version = static_cast<uint16_t>(w[0] >> 16),
          .tick = static_cast<uint32_t>(w[0] >> 32),
          .a = static_cast<uint32_t>(w[1]),
          .b = static_cast<uint32_t>(w[1] >> 32),
          .c = w[2],
          .d = w[3]};
}

constexpr offload::Item Encode(const Decision& d) {
  return {{d.version | uint64_t{d.elements} << 16 | uint64_t{d.checksum} << 32, d.scans_seen,
           d.number, 0, 0}};
}
constexpr Decision DecodeDecision(const offload::Item& item) {
  const auto& w = item.word;
  return {.version = static_cast<uint16_t>(w[0]),
          .elements = static_cast<uint16_t>(w[0] >> 16),
          .checksum = static_cast<uint32_t>(w[0] >> 32),
          .scans_seen = w[1],
          .number = w[2]};
}

constexpr offload::Item Encode(const Outcome& o) {
  return {{static_cast<uint64_t>(o.verdict), o.number, o.done, o.generation,
           o.fast_used | uint64_t{o.fast_capacity} << 32}};
}
constexpr Outcome DecodeOutcome(const offload::Item& item) {
  const auto& w = item.word;
  return {.verdict = static_cast<Verdict>(w[0]),
          .number = w[1],
          .done = w[2],
          .generation = w[3],
          .fast_used = static_cast<uint32_t>(w[4]),
          .fast_capacity = static_cast<uint32_t>(w[4] >> 32)};
}

}  // namespace sluice::engine::tiering
