// SPDX-License-Identifier: BSD-3-Clause
//
// Interface between a host with two memory tiers and its agent. Items on a channel contain events
// (the geometry, a piece of scan results, the end of a tick), decisions, and the outcome of each
// decision. Scan results and elements of decisions are bulk data (bulk.h); an item refers to them.
// Decoded values come from an untrusted peer and may be arbitrary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "offload/item.h"

namespace sluice::simulation::tiering {

using Vpn = uint32_t;     ///< Virtual page number, from 0.
using Region = uint32_t;  ///< Index of a group of kRegionPages adjacent pages, from 0.
/// Counter of a page table that is incremented whenever a page is mapped, unmapped, remapped or
/// migrated. A page stores the counter's value at its last change. If this value is at most `seen`,
/// the page has not changed since the counter was `seen`.
using Generation = uint64_t;

/// Pages per region. One word holds one kind of bit for a whole region.
inline constexpr uint32_t kRegionPages = 64;
inline constexpr uint32_t kMaxPages = 1u << 30;

/// A scan period is PeriodTicks(arm) ticks of 0.3 s: 0.3 … 9.6 s (SOL's arms).
inline constexpr uint32_t kArms = 6;
inline constexpr uint64_t kTickNanoseconds = 300'000'000;
constexpr uint32_t PeriodTicks(uint32_t arm) { return 1u << arm; }
inline constexpr uint32_t kSlowestTicks = PeriodTicks(kArms - 1);
/// Number of ticks per epoch, which is four periods of the slowest arm. A region's arm does not
/// change during an epoch.
inline constexpr uint32_t kEpochTicks = 4 * kSlowestTicks;

enum class Tier : uint8_t { kFast, kSlow };

/// Result of a region's scan, which also cleared the access bits. Bit i is page 64 · region + i.
struct ScanRecord {
  Region region = 0;
  /// Number of ticks that the bits cover, since the previous scan; 0 if unknown.
  uint32_t ticks = 0;
  Generation generation = 0;  ///< Generation of the table at the time of the scan.
  uint64_t accessed = 0;
  uint64_t mapped = 0;
  uint64_t fast = 0;
  uint64_t fresh = 0;  ///< Pages that were mapped, unmapped or remapped since the previous scan.

  friend bool operator==(const ScanRecord&, const ScanRecord&) = default;
};
static_assert(sizeof(ScanRecord) == 48 && std::has_unique_object_representations_v<ScanRecord>);

/// One request by an agent. It is fulfilled completely or not at all.
struct Element {
  enum Kind : uint8_t { kMigrate, kScanPeriod };

  uint32_t first = 0;  ///< First page (kMigrate) or region (kScanPeriod).
  uint16_t count = 0;  ///< Number of pages or regions.
  uint8_t kind = kMigrate;
  uint8_t value = 0;          ///< A Tier (kMigrate) or an arm (kScanPeriod).
  Generation generation = 0;  ///< kMigrate: the generation that the agent knows.

  friend bool operator==(const Element&, const Element&) = default;
};
static_assert(sizeof(Element) == 16 && std::has_unique_object_representations_v<Element>);
/// Maximum number of elements per decision. Each has a result bit in the outcome.
inline constexpr uint32_t kMaxElements = 64;
/// Maximum number of pages per element.
inline constexpr uint32_t kMaxRangePages = kRegionPages;

inline constexpr uint16_t kAbiVersion = 1;

/// Returns the checksum of bulk data. The data is invalid if this differs from the checksum in the
/// item.
inline uint32_t Checksum(std::span<const std::byte> bytes) {
  uint64_t sum = 0x9e37'79b9'7f4a'7c15 ^ bytes.size();
  for (const std::byte b : bytes) sum = (sum ^ static_cast<uint8_t>(b)) * 0x100'0000'01b3;
  return static_cast<uint32_t>(sum ^ sum >> 32);
}

/// Kinds of events that the host sends to the agent.
enum class EventKind : uint8_t {
  kGeometry = 1,  ///< Sent to an agent that is new or was considered silent.
  kScans,         ///< A piece of ScanRecords.
  kTick,          ///< The end of a tick.
};

struct Event {
  EventKind kind = EventKind::kTick;
  uint16_t version = kAbiVersion;
  uint32_t tick = 0;
  // kGeometry: pages, capacity of the fast tier in pages; kScans: piece, number of records; kTick:
  // fast pages in use, 0.
  uint32_t a = 0, b = 0;
  // kGeometry: sequence number of the last piece sent, 0; kScans: sequence number from 1, checksum;
  // kTick: accesses to the fast and to the slow tier during the tick, from the processor's
  // counters.
  uint64_t c = 0, d = 0;

  friend bool operator==(const Event&, const Event&) = default;
};

/// A decision, sent from agent to host. The piece of bulk data with its slot's number contains its
/// `elements` elements.
struct Decision {
  uint16_t version = kAbiVersion;
  uint16_t elements = 0;
  uint32_t checksum = 0;
  /// Sequence number of the newest piece of scans that the agent has read. That piece and older
  /// ones may be overwritten.
  uint64_t scans_seen = 0;
  uint64_t number = 0;  ///< Number that the agent assigned to the decision, for logs.

  friend bool operator==(const Decision&, const Decision&) = default;
};

/// Validity of a decision as a whole.
enum class Verdict : uint8_t { kUnderstood, kBadVersion, kBadCount, kBadChecksum, kBadSequence };
inline constexpr uint32_t kVerdicts = 5;

/// Result of a decision, sent from host to agent.
struct Outcome {
  Verdict verdict = Verdict::kUnderstood;
  uint64_t number = 0;
  uint64_t done = 0;  ///< Bit i is set if element i was fulfilled.
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

}  // namespace sluice::simulation::tiering
