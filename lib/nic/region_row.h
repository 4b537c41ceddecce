// SPDX-License-Identifier: BSD-3-Clause
//
// A row: the first frames of a region, if they have the same length and are equally spaced. A NIC
// that receives frames of one size writes such regions. After Find, the entries of a row need not
// be loaded or checked: the first entry and the distance describe all of them.
#pragma once

#include <atomic>
#include <cstdint>

#include "cpu/vector.h"
#include "nic/held_region.h"
#include "nic/region_writer.h"
#include "swap/region.h"

namespace sluice::nic {

/// Entry i of the row is first + i * step, and is valid.
struct RegionRow {
  /// Number of entries that are compared at once. The number of frames in a row is a multiple of
  /// kGroup.
  static constexpr uint32_t kGroup = 8;

  swap::Entry first = 0;
  /// Difference between consecutive entries, which is the distance between frames in bytes.
  swap::Entry step = 0;
  uint32_t frames = 0;

  /// Returns the longest row at the start of `region`; it may be empty. The region must have
  /// received at least kGroup frames. A row does not refer to the region's entries, so the NIC
  /// cannot change it afterwards.
  static RegionRow Find(const HeldRegion& region) {
    RegionRow row{.first = RegionWriter::Load(region.entries[0])};
    row.step = RegionWriter::Load(region.entries[1]) - row.first;
    row.frames = CountAlike(region.entries, region.received, row.first, row.step);
    return row.frames > 0 && row.IsSound(RegionWriter::Bounds(region)) ? row : RegionRow{};
  }

 private:
  /// Returns the number of leading entries that match the row, rounded down to whole groups.
  static uint32_t CountAlike(const swap::Entry* entries, uint32_t received, swap::Entry first,
                             swap::Entry step) {
    cpu::Words low = cpu::AllOf(first) + cpu::AllOf(step) * cpu::Words{0, 1, 2, 3};
    cpu::Words high = low + cpu::AllOf(4 * step);
    const cpu::Words further = cpu::AllOf(kGroup * step);
    const swap::Entry* const end = entries + received / kGroup * kGroup;
    const swap::Entry* at = entries;
    for (; at < end; at += kGroup) {
      const cpu::Words differs = (cpu::Load(at) ^ low) | (cpu::Load(at + kGroup / 2) ^ high);
      if (cpu::AnyInCommon(differs, differs)) break;
      low += further;
      high += further;
    }
    return static_cast<uint32_t>(at - entries);
  }

  /// Returns whether all entries of the row are valid. This is the case if the first and the last
  /// entry are valid and have the same length, and the offsets increase without overflow, because
  /// then no sum has carried into the lengths.
  bool IsSound(const swap::Geometry& bounds) const {
    const swap::Entry last = first + (frames - 1) * step;
    const uint64_t end = swap::EntryOffset(first) + uint64_t{frames - 1} * step;
    return step > 0 && end == swap::EntryOffset(last) &&
           swap::EntryLength(last) == swap::EntryLength(first) &&
           swap::EntryIsSound(first, bounds) && swap::EntryIsSound(last, bounds);
  }
};

}  // namespace sluice::nic
