// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of one link between a host and a NIC, which is the complete record of who owns which
// region. It is a memfd that outlives both processes. An end has only a cursor into it and can be
// rebuilt from it at any time.
//
//   0     header: geometry; `magic` is stored last
//   128   the host's line; the host is the initiator
//   256   the NIC's line; the NIC is the responder
//   384   owners word: bit r is set if the host owns region r. Written only by the host
//   4096  the regions
//
// At any instant, the owner of a region follows from the owners word and the outcome in the NIC's
// line, if the host has not recorded that outcome yet (both lines then contain the same transaction
// id). One 8-byte store to the NIC's line changes the owners of two regions; a store to the owners
// word follows. Owners() returns the correct owners even between the two stores and after either
// process has died.
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

/// First payload word of an offer: the region, and the number of frames that it contains.
struct Given {
  uint32_t region;
  uint32_t frames;

  constexpr uint64_t Word() const { return region | uint64_t{frames} << 32; }
  static constexpr Given Of(uint64_t word) {
    return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)};
  }
};
/// Payload of an outcome. Word 0 is the region that the NIC gives, and word 1 is the region that it
/// receives, so that the line contains the whole exchange.
inline constexpr uint32_t kGivenWord = 0;
inline constexpr uint32_t kTakenWord = 1;
/// Keys of an offer, which give the condition for the exchange.
inline constexpr uint64_t kAnyRegion = 0;    ///< Exchange at once, even if the region is empty.
inline constexpr uint64_t kWantsFrames = 1;  ///< Exchange when frames have arrived.

/// Returns the bit of a region in words that have one bit per region.
constexpr uint64_t RegionBit(uint32_t region) { return uint64_t{1} << region; }
/// Returns whether the owners word contains exactly one region of the link. The host always owns
/// one.
constexpr bool IsOneRegion(uint64_t owners, const Geometry& geometry) {
  return std::has_single_bit(owners) &&
         static_cast<uint32_t>(std::countr_zero(owners)) < geometry.regions;
}

/// Returns the regions that the host owns, by bit, given the owners word and both lines as of the
/// same instant.
constexpr uint64_t OwnersAfter(uint64_t owners, const Message& host, const Message& nic,
                               const Geometry& geometry) {
  // If the NIC's line does not contain an outcome for `host.txid`, the host has recorded all
  // outcomes.
  if (nic.phase != Phase::kCommitted || nic.txid != host.txid) return owners;
  const Given given = Given::Of(nic.payload[kGivenWord]);
  const Given taken = Given::Of(nic.payload[kTakenWord]);
  if (given.region >= geometry.regions || taken.region >= geometry.regions) return owners;
  return (owners | uint64_t{1} << given.region) & ~(uint64_t{1} << taken.region);
}

/// Provides access to the memory. Copies refer to the same memory, which the creator must keep
/// mapped.
class LinkMemory {
 public:
  LinkMemory() = default;
  static constexpr size_t BytesFor(const Geometry& geometry) {
    return kRegionsOffset + size_t{geometry.regions} * geometry.region_bytes;
  }

  /// Initializes a link in zeroed memory of at least BytesFor(geometry) bytes: the host owns region
  /// 0, and the NIC owns all others. The geometry must be valid.
  static LinkMemory Format(std::span<uint8_t> memory, const Geometry& geometry);
  /// Returns the link in memory that the peer can write to. Returns an empty object if the memory
  /// is not aligned like LinkHeader or does not contain a valid layout that fits into it. Nothing
  /// in the memory is trusted.
  static LinkMemory Find(std::span<uint8_t> memory);

  explicit operator bool() const { return header_ != nullptr; }
  /// Returns a copy that was read once, so that the peer cannot change it.
  const Geometry& geometry() const { return geometry_; }
  LinkHeader& header() const { return *header_; }
  Region region(uint32_t id) const {
    return {id, reinterpret_cast<uint8_t*>(header_) + kRegionsOffset +
                    size_t{id} * geometry_.region_bytes};
  }

  /// Returns the regions that the host owns, by bit, including an outcome that has not been
  /// recorded yet. The NIC's end must not run concurrently; the host's end may.
  uint64_t Owners() const;
  /// Returns the owners word only.
  uint64_t RecordedOwners() const;
  /// Stores the owners word. Only the host may call it.
  void RecordOwners(uint64_t owners);

 private:
  LinkHeader* header_ = nullptr;
  Geometry geometry_;
};

/// One side's access to the two lines, as a window with one pair of lines.
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
