// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of one link between a host and a NIC: everything that both ends know about
// who owns what. It lives in a memfd that outlives either process, and an end is no more
// than a cursor into it: it can be built again from here at any time.
//
//   0     header: geometry; `magic` is stored last
//   128   the host's line: it initiates
//   256   the NIC's line: it responds
//   384   owners: bit r is set if region r is the host's. Written by the host alone
//   4096  the regions
//
// Ownership at every instant. The owners word, plus the outcome that the NIC's line shows
// if the host has not recorded it yet (both lines carry the same transaction id). The
// NIC's line changes hands of two regions with one 8-byte store, the owners word follows
// with another. In between, and after any death, Owners() gives the one answer.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bar/shared_line.h"
#include "bar/window.h"
#include "swap/message.h"
#include "swap/region.h"

namespace sluice::swap {

inline constexpr uint64_t kLinkMagic = 0x316b'6e69'4c65'636c;  // "lceLink1"
inline constexpr uint32_t kRegionsOffset = 4096;

struct LinkHeader {
  alignas(128) uint64_t magic;
  Geometry geometry;
  alignas(128) bar::Line host_line;
  alignas(128) bar::Line nic_line;
  alignas(128) uint64_t owners;
};
static_assert(offsetof(LinkHeader, nic_line) == 256 && offsetof(LinkHeader, owners) == 384);

/// First payload word of an offer: the region, and the frames in it.
struct Given {
  uint32_t region;
  uint32_t frames;

  uint64_t Word() const { return region | uint64_t{frames} << 32; }
  static Given Of(uint64_t word) {
    return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)};
  }
};
/// Payload of an outcome: word 0 what the NIC gives, word 1 what it took, so that the line
/// alone tells the whole exchange.
inline constexpr uint32_t kGivenWord = 0;
inline constexpr uint32_t kTakenWord = 1;
/// Keys of an offer: what the host waits for.
inline constexpr uint64_t kAnyRegion = 0;    ///< Take mine at once; an empty one will do.
inline constexpr uint64_t kWantsFrames = 1;  ///< Answer when there are frames.

/// A region's bit in words that have one for every region of the link.
constexpr uint64_t RegionBit(uint32_t region) { return uint64_t{1} << region; }
/// Whether the owners word names one region of the link: the host owns one, always.
constexpr bool IsOneRegion(uint64_t owners, const Geometry& geometry) {
  return std::has_single_bit(owners) &&
         static_cast<uint32_t>(std::countr_zero(owners)) < geometry.regions;
}

/// A view of the memory. Copies refer to the same memory, which the creator keeps mapped.
class LinkMemory {
 public:
  LinkMemory() = default;
  static size_t BytesFor(const Geometry& geometry) {
    return kRegionsOffset + size_t{geometry.regions} * geometry.region_bytes;
  }

  /// Lays a link out in zeroed memory of at least BytesFor(geometry): region 0 is the
  /// host's, the others are the NIC's. The geometry is sound.
  static LinkMemory Format(std::span<uint8_t> memory, const Geometry& geometry);
  /// Finds a link in memory that the peer can write to. Nothing in it is trusted: without
  /// a sound layout that fits the memory, which is aligned as LinkHeader, the result is empty.
  static LinkMemory Find(std::span<uint8_t> memory);

  explicit operator bool() const { return header_ != nullptr; }
  /// Read once; the peer cannot change it any more.
  const Geometry& geometry() const { return geometry_; }
  LinkHeader& header() const { return *header_; }
  Region region(uint32_t id) const {
    return {id, reinterpret_cast<uint8_t*>(header_) + kRegionsOffset +
                    size_t{id} * geometry_.region_bytes};
  }

  /// The host's regions, by bit, with the outcome that is not recorded yet. The NIC's end
  /// does not serve meanwhile; the host's may go on.
  uint64_t Owners() const;
  /// The owners word alone.
  uint64_t RecordedOwners() const;
  /// Host only.
  void RecordOwners(uint64_t owners);

 private:
  LinkHeader* header_ = nullptr;
  Geometry geometry_;
};

/// One side's view of the two lines, as a window of one pair.
class LinkWindow {
 public:
  LinkWindow() = default;
  LinkWindow(bar::Line& own, const bar::Line& peer) : own_(&own), peer_(&peer) {}

  uint32_t lines() const { return 1; }
  uint32_t capabilities() const {
    return bar::kWindowLineAtomic | bar::kWindowNicStoresHost | bar::kWindowCoherent |
           bar::kWindowModelled;
  }
  void Post(uint32_t, const bar::Line& line) { bar::PublishLine(*own_, line); }
  uint64_t Peek(uint32_t) const { return bar::PeekLine(*peer_); }
  bool Poll(uint32_t, bar::Line& out) const { return bar::ReadLine(*peer_, out); }
  uint64_t ReadUncached(uint32_t, uint32_t word) const { return bar::ReadWord(*peer_, word); }
  void Flush() {}
  void Interrupt(uint32_t) {}

 private:
  bar::Line* own_ = nullptr;
  const bar::Line* peer_ = nullptr;
};

}  // namespace sluice::swap
