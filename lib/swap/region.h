// SPDX-License-Identifier: BSD-3-Clause
//
// A region, which is the unit of exchange in a swap. It consists of one header line, an array with
// one entry per frame, and the frames. The entries contain the lengths, so that frames of any type
// pass in both directions, and a reader can look ahead arbitrarily far. Only the owner of a region
// writes to it, in place.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::swap {

inline constexpr uint32_t kRegionLineBytes = 64;
/// Each frame begins at a multiple of this size plus the link's headroom.
inline constexpr uint32_t kSlotBytes = 64;
inline constexpr uint32_t kMaxRegionBytes = 1u << 18;
inline constexpr uint32_t kMinFrameBytes = 14;
inline constexpr uint32_t kMaxFrameBytes = 9728;

/// Position of a frame. Bits 0 … 17: offset of its first byte in the region. Bits 18 … 31: length
/// in bytes without FCS; 0 if there is no frame.
using Entry = uint32_t;
inline constexpr uint32_t kEntryLengthShift = 18;
constexpr Entry MakeEntry(uint32_t offset, uint32_t length) {
  return offset | length << kEntryLengthShift;
}
constexpr uint32_t EntryOffset(Entry entry) { return entry & (kMaxRegionBytes - 1); }
constexpr uint32_t EntryLength(Entry entry) { return entry >> kEntryLengthShift; }

enum class RegionKind : uint32_t {
  kFree,
  kReceived,  ///< Frames from the wire, for the host.
  kToSend,    ///< Frames from the host, for the wire.
};

/// The first line of a region. Only the owner writes it.
struct alignas(kRegionLineBytes) RegionHeader {
  RegionKind kind;
  /// Number of used entries. In a received region, it is stored (release) after each complete
  /// frame, so that all counted frames are complete even if the owner dies.
  uint32_t count;
  /// Only for regions to send. Frames below this index were sent, or may have been sent when the
  /// device died. It is stored before the frames are passed to the wire, so that no frame is sent
  /// twice.
  uint32_t cursor;
  uint32_t reserved;
  uint64_t sequence;  ///< Only for received regions: sequence number of the region.
};
static_assert(sizeof(RegionHeader) == kRegionLineBytes);

/// Sizes of all regions of a link. Both ends use the same values.
struct Geometry {
  uint32_t regions = 8;                     ///< kMinRegions … kMaxRegions.
  uint32_t region_bytes = kMaxRegionBytes;  ///< A multiple of 4096, at most kMaxRegionBytes.
  uint32_t max_frames = 512;                ///< Number of entries per region; a multiple of 16.
  uint32_t headroom_bytes = 0;  ///< Headroom of received frames; a multiple of 64, ≤ 256.

  friend bool operator==(const Geometry&, const Geometry&) = default;

  /// Returns null if the sizes are valid, otherwise one line that names the invalid field.
  constexpr const char* Error() const;
  constexpr uint32_t DataOffset() const {
    return kRegionLineBytes + max_frames * static_cast<uint32_t>(sizeof(Entry));
  }
};
inline constexpr uint32_t kMinRegions = 3;
inline constexpr uint32_t kMaxRegions = 64;

constexpr const char* Geometry::Error() const {
  if (regions < kMinRegions || regions > kMaxRegions) return "regions: give 3 to 64";
  if (region_bytes == 0 || region_bytes % 4096 != 0 || region_bytes > kMaxRegionBytes) {
    return "region_bytes: give a multiple of 4096, at most 262144";
  }
  if (max_frames == 0 || max_frames % 16 != 0 || max_frames > kMaxRegionBytes / kSlotBytes) {
    return "max_frames: give a multiple of 16, at most 4096";
  }
  if (headroom_bytes % kSlotBytes != 0 || headroom_bytes > 256) {
    return "headroom_bytes: give 0, 64, 128, 192 or 256";
  }
  if (DataOffset() + headroom_bytes + 1536 > region_bytes) {
    return "region_bytes: too small for the entries and one frame";
  }
  return nullptr;
}

/// A region's number and its address in this process.
struct Region {
  uint32_t id = 0;
  uint8_t* base = nullptr;

  RegionHeader& header() const { return *reinterpret_cast<RegionHeader*>(base); }
  Entry* entries() const { return reinterpret_cast<Entry*>(base + kRegionLineBytes); }
};

/// Returns whether an entry that the peer wrote describes a frame inside the region.
constexpr bool EntryIsSound(Entry entry, const Geometry& geometry) {
  const uint32_t offset = EntryOffset(entry);
  const uint32_t length = EntryLength(entry);
  const uint32_t data = geometry.DataOffset();
  // If the offset is before the data, the difference wraps around to a value far beyond the region.
  const uint64_t end = uint64_t{offset - data} + length;
  return length - kMinFrameBytes <= kMaxFrameBytes - kMinFrameBytes &&
         end <= geometry.region_bytes - data;
}
/// Returns whether EntryIsSound is true for all entries. Does not branch per entry, so that the
/// compiler can vectorize it.
constexpr bool EntriesAreSound(std::span<const Entry> entries, const Geometry& geometry) {
  const uint32_t data = geometry.DataOffset();
  uint32_t unsound = 0;
  for (const Entry entry : entries) {
    const uint32_t offset = EntryOffset(entry), length = EntryLength(entry);
    unsound |= uint32_t{length - kMinFrameBytes > kMaxFrameBytes - kMinFrameBytes};
    unsound |= uint32_t{offset < data} | uint32_t{offset + length > geometry.region_bytes};
  }
  return unsound == 0;
}

}  // namespace sluice::swap
