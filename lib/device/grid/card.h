// SPDX-License-Identifier: BSD-3-Clause
//
// The state in card memory that all models on a card share, and the lines of host memory through
// which the host process controls the card. The host writes these structures while no block runs;
// afterwards the blocks own them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/grid/memory.h"
#include "device/grid/wire_state.h"

namespace sluice::device::grid {

/// The host's requests, in host memory. The register block reads the first quad (16 bytes), and
/// also the second if frames on the wire are sampled.
struct alignas(64) Control {
  uint32_t stop = 0;          ///< Not 0: all blocks end at their next check (kTurnsBetweenLooks).
  uint32_t wire_on = 0;       ///< 1: the wire's source is sending.
  uint32_t request = 0;       ///< The card writes a report when this differs from Report::served.
  uint32_t heartbeat = 0;     ///< Incremented while the host process is alive; see kHostTimeoutNs.
  uint64_t samples_read = 0;  ///< Samples that the host has read, modulo 2^32 (samples.h).
  uint64_t unused = 0;
};
static_assert(offsetof(Control, samples_read) == sizeof(Quad));
/// A card stops if its host's heartbeat does not change for this long.
inline constexpr uint64_t kHostTimeoutNs = 5'000'000'000;

/// Indices of the wire's counters (emulator/wire.h, WireTotals).
enum class WireEvent : uint32_t {
  kOffered,
  kReturned,
  kReturnedBytes,
  kRecognised,
  kGaps,
  kCorrupted,
  kForeign,
  kDuplicated,
  kReordered,
  kLate,
  kVerified,
  kSourceLate,
  kHash,          ///< Sum of the hashes of returned frames without tags (samples.h).
  kLoopbackFull,  ///< Frames dropped because the loopback ring had no free entry.
  kCount,
};
inline constexpr uint32_t kWireEvents = static_cast<uint32_t>(WireEvent::kCount);

/// Kinds of bytes that cross the link. Bus headers are not counted.
enum class Crossing : uint32_t {
  kPayloadToHost,
  kPayloadFromHost,
  kNotifications,  ///< Notifications, completions, entries of regions and lines, to the host.
  kDescriptors,    ///< Slots, descriptors, entries of regions and lines, from the host.
  kRegisters,      ///< Register accesses that the card reads from the host's posted-write queues.
  kCount,
};
inline constexpr uint32_t kCrossings = static_cast<uint32_t>(Crossing::kCount);

/// Phases of a block's turn. The card counts the cycles spent in each.
enum class Phase : uint32_t {
  kReceiveSteer,
  kReceiveReserve,  ///< Waits for the batch's ticket, then reserves room.
  kReceiveCopy,
  kReceivePublish,  ///< Waits for the batch's ticket, then publishes the frames.
  kSendSlots,       ///< Reads slots or descriptors.
  kSendBytes,
  kSendCut,
  kSendCheck,
  kSendOrder,  ///< Waits for the chunk's turn, then checks the order of its frames.
  kSendComplete,
  kElapsed,  ///< All cycles of the register block since its start.
  kCount,
};
inline constexpr uint32_t kPhases = static_cast<uint32_t>(Phase::kCount);

/// Number of buckets of the latency histogram: eight for each doubling of the latency.
inline constexpr uint32_t kLatencyBuckets = 8 * 40;
constexpr uint32_t LatencyBucket(uint64_t ns) {
  if (ns < 8) return static_cast<uint32_t>(ns);
  uint32_t log = 3;
  while ((ns >> log) > 1 && log < 41) ++log;
  const uint32_t bucket = (log - 2) * 8 + static_cast<uint32_t>((ns >> (log - 3)) & 7);
  return bucket < kLatencyBuckets ? bucket : kLatencyBuckets - 1;
}
/// Returns the shortest latency of a bucket, in ns.
constexpr uint64_t LatencyOf(uint32_t bucket) {
  if (bucket < 16) return bucket;
  const uint32_t log = bucket / 8 + 2;
  return (uint64_t{8} + bucket % 8) << (log - 3);
}
static_assert(LatencyBucket(LatencyOf(100)) == 100 && LatencyBucket(LatencyOf(16)) == 16 &&
              LatencyBucket(15) == 15 && LatencyBucket(LatencyOf(319)) == 319);

inline constexpr uint32_t kMaxModelEvents = 64;

/// All counters. Contains only 64-bit words, so that it can be copied word by word.
struct Counters {
  uint64_t model[kMaxModelEvents];  ///< Indexed by the model's enumeration.
  uint64_t wire[kWireEvents];
  uint64_t crossings[kCrossings];
  uint64_t phases[kPhases];  ///< Cycles, summed over all blocks.
  uint64_t latency[kLatencyBuckets];

  uint64_t& operator[](Phase phase) { return phases[static_cast<uint32_t>(phase)]; }
  uint64_t& operator[](WireEvent event) { return wire[static_cast<uint32_t>(event)]; }
  uint64_t& operator[](Crossing crossing) { return crossings[static_cast<uint32_t>(crossing)]; }
};
inline constexpr uint32_t kCounterWords = sizeof(Counters) / sizeof(uint64_t);

/// The card's responses, in host memory.
struct alignas(64) Report {
  uint32_t served = 0;  ///< The request that `counters` answers; stored last.
  alignas(64) Counters counters{};
};

/// One range of bus addresses and its address on the card.
struct DmaRange {
  uint64_t bus;
  uint64_t bytes;
  uint64_t at;
};

/// Returns the card address of [bus, bus + bytes), or null if none of the `count` sorted ranges
/// contains it.
inline uint8_t* FindAddress(const DmaRange* ranges, uint32_t count, uint64_t bus, uint64_t bytes) {
  uint32_t first = 0, last = count;  // The range's index is in [first, last).
  while (first < last) {
    const uint32_t middle = (first + last) / 2;
    const DmaRange& range = ranges[middle];
    if (bus < range.bus) {
      last = middle;
    } else if (bus - range.bus >= range.bytes) {
      first = middle + 1;
    } else {
      const uint64_t offset = bus - range.bus;
      if (bytes > range.bytes - offset) return nullptr;
      return reinterpret_cast<uint8_t*>(range.at + offset);
    }
  }
  return nullptr;
}

/// All ranges that the card may access, sorted by bus address, without overlaps. Constant while
/// blocks run.
struct DmaTable {
  static constexpr uint32_t kMaxRanges = 10240;

  uint32_t count = 0;
  DmaRange ranges[kMaxRanges];

  uint8_t* Translate(uint64_t bus, uint64_t bytes) const {
    return FindAddress(ranges, count, bus, bytes);
  }
};

/// A block's copy of a DmaTable in its shared memory. Used if the table is short, because each step
/// of a search in card memory costs a round trip.
struct DmaCopy {
  static constexpr uint32_t kMaxRanges = 32;

  uint32_t count;
  DmaRange ranges[kMaxRanges];

  /// Called by one thread, before the block's first turn.
  void Fill(const DmaTable& table) {
    count = table.count;
    for (uint32_t i = 0; i < count && i < kMaxRanges; ++i) ranges[i] = table.ranges[i];
  }
  uint8_t* Translate(const DmaTable& table, uint64_t bus, uint64_t bytes) const {
    return count <= kMaxRanges ? FindAddress(ranges, count, bus, bytes)
                               : table.Translate(bus, bytes);
  }
};

/// Byte offsets of the parts of a bar::PostedQueue (bar/posted_queue.h).
struct QueueLayout {
  uint32_t lanes;  ///< Offset of the first lane.
  uint32_t lane_bytes;
  uint32_t depth;                                       ///< Entries per lane.
  uint32_t entries, head, reply_sequence, reply_value;  ///< Offsets within a lane.
};

inline constexpr uint32_t kLanes = 64;

/// Number of turns that a block runs between two checks of Card::stopping.
inline constexpr uint32_t kTurnsBetweenLooks = 16;

/// State that the models share.
struct Card {
  Control* control = nullptr;
  Report* report = nullptr;
  uint8_t* queue = nullptr;  ///< The posted-write queue; null if no host is attached.
  QueueLayout layout{};
  uint64_t address = 0;  ///< Permanent MAC address, first octet lowest.

  uint32_t stopping = 0;
  uint32_t wire_on = 0;
  uint32_t served = 0;
  uint32_t heartbeat = 0;
  uint64_t heartbeat_ns = 0;

  uint32_t link = 0;  ///< Epoch of the posted-write queue.
  uint64_t lanes_used = 0;
  uint32_t heads[kLanes] = {};

  Wire wire;
  Counters counters{};
  DmaTable dma;
};

}  // namespace sluice::device::grid
