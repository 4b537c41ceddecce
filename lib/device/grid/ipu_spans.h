// SPDX-License-Identifier: BSD-3-Clause
//
// The positions of a batch's frames in the regions of a link. A span is the run of a queue's frames
// that go to the same region.
#pragma once

#include <cstdint>

#include "device/grid/ipu_card.h"
#include "device/grid/wire_state.h"
#include "swap/region.h"

namespace sluice::device::grid {

struct IpuSpan {
  uint16_t first;  ///< The first sorted frame.
  uint16_t entry;  ///< Its entry number in the region.
  uint16_t flit;   ///< Its slot, counted from the beginning of the region's data.
  uint8_t region;  ///< Number of the region.
};
static_assert(kBatchFrames <= 0xffff && swap::kMaxRegionBytes / kFlitBytes <= 0xffff &&
              swap::kMaxRegions <= 0xff);

/// The spans of one queue of a batch, in a block's shared memory.
struct IpuSpans {
  uint32_t count;
  uint32_t open;  ///< Queue position of the first span's region.
  IpuSpan list[swap::kMaxRegions];
};

/// Handles the spans of one queue, which are the sorted frames [first, last). Must be used by one
/// thread, except for const methods. FlitsOf(a, b), a function of the batch, returns the number of
/// 64-byte units of the frames [a, b) without headroom.
template <typename FlitsOf>
class IpuSpanWalk {
 public:
  IpuSpanWalk(IpuLink& link, IpuSpans& spans, uint32_t headroom, uint32_t first, uint32_t last,
              FlitsOf flits_of)
      : link_(link),
        spans_(spans),
        headroom_(headroom),
        first_(first),
        last_(last),
        flits_of_(flits_of) {}

  /// Distributes frames over the regions that have room. Returns the end of the frames that have
  /// room. The caller must hold the link's lock.
  uint32_t Look() {
    const swap::Geometry& geometry = link_.end.geometry;
    const uint32_t capacity = (geometry.region_bytes - geometry.DataOffset()) / kFlitBytes;
    const uint32_t supplied = Load(&link_.supplied);
    FenceCard();
    uint32_t position = Load(&link_.open), at = first_;
    uint32_t entry = Load(&link_.frames), flit = Load(&link_.flits);
    spans_.open = position;
    spans_.count = 0;
    for (; at != last_ && position != supplied; ++position) {
      const uint32_t first = at;
      spans_.list[spans_.count++] = {static_cast<uint16_t>(first), static_cast<uint16_t>(entry),
                                     static_cast<uint16_t>(flit), link_.RegionAt(position)};
      const auto fits = [&](uint32_t i) {
        return entry + (i + 1 - first) <= geometry.max_frames &&
               flit + Slots(first, i + 1) <= capacity;
      };
      uint32_t end = last_;
      while (at < end) {
        const uint32_t middle = (at + end) / 2;
        fits(middle) ? at = middle + 1 : end = middle;
      }
      entry = flit = 0;
    }
    return at;
  }

  /// Reserves room for the frames before `end`. `full` means that frame `end` has no room; the open
  /// region is then closed. The caller must have held the lock since Look.
  void Reserve(uint32_t end, bool full) {
    const uint32_t base = Load(&link_.reserved);
    Store(&link_.reserved, base + end - first_);
    if (spans_.count == 0) return;
    uint32_t i = 0;
    while (i + 1 < spans_.count && spans_.list[i + 1].first < end) {
      ++i;
      Store(&link_.StartOf(spans_.open + i), base + spans_.list[i].first - first_);
    }
    const IpuSpan& last = spans_.list[i];
    FenceCard();
    Store(&link_.open, spans_.open + i);
    Store(&link_.frames, last.entry + end - last.first);
    Store(&link_.flits, last.flit + Slots(last.first, end));
    if (full) link_.Close();
  }

  /// Stores the entry for frame `frame`, which has `length` bytes, and returns the frame's address.
  uint8_t* Place(uint32_t frame, uint32_t length) const {
    uint32_t i = 0;
    while (i + 1 < spans_.count && spans_.list[i + 1].first <= frame) ++i;
    const IpuSpan& span = spans_.list[i];
    const uint32_t offset = link_.end.geometry.DataOffset() +
                            (span.flit + Slots(span.first, frame) + headroom_) * kFlitBytes;
    uint8_t* const region = link_.end.Region(span.region);
    auto* const entries = reinterpret_cast<swap::Entry*>(region + swap::kRegionLineBytes);
    Store(&entries[span.entry + frame - span.first], swap::MakeEntry(offset, length));
    return region + offset;
  }

  /// Publishes the frames before `end`, which must be complete.
  void Publish(uint32_t end) const {
    for (uint32_t i = 0; i < spans_.count && spans_.list[i].first < end; ++i) {
      const IpuSpan& span = spans_.list[i];
      const uint32_t next = i + 1 < spans_.count ? Least(spans_.list[i + 1].first, end) : end;
      // A region without room for the batch's first frame may already belong to the host.
      if (next == span.first) continue;
      auto* const count = link_.end.Region(span.region) + offsetof(swap::RegionHeader, count);
      Store(reinterpret_cast<uint32_t*>(count), span.entry + next - span.first);
    }
    // The host may write the header once it owns the region.
    FenceSystem();
    Store(&link_.head, Load(&link_.head) + end - first_);
  }

 private:
  /// Returns the number of slots that the frames [begin, end) occupy.
  uint32_t Slots(uint32_t begin, uint32_t end) const {
    return begin == end ? 0 : flits_of_(begin, end) + (end - begin) * headroom_;
  }

  IpuLink& link_;
  IpuSpans& spans_;
  const uint32_t headroom_, first_, last_;
  const FlitsOf flits_of_;
};

}  // namespace sluice::device::grid
