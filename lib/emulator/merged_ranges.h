// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that comes and goes in pieces, kept in a DmaSpace as few ranges: adjacent
// pieces are one, since an allocation of DPDK may lie across them.
#pragma once

#include <cstdint>
#include <map>

#include "bar/dma.h"

namespace sluice::emulator {

/// Bus address + `distance` is where this process sees a byte, for all pieces. Not for
/// use by two threads at once; the device may translate meanwhile.
class MergedRanges {
 public:
  /// `dma` outlives this object, which does not take its ranges back.
  MergedRanges(bar::DmaSpace& dma, uint64_t distance) : dma_(dma), distance_(distance) {}

  /// Makes [begin, end) reachable, parts of it perhaps once more. False: no slot.
  bool Insert(uint64_t begin, uint64_t end);
  /// Makes [begin, end) unreachable. False if more became so, for want of a slot.
  bool Erase(uint64_t begin, uint64_t end);

  uint64_t distance() const { return distance_; }

 private:
  bar::DmaSpace::Mapping Map(uint64_t begin, uint64_t end) const;

  bar::DmaSpace& dma_;
  const uint64_t distance_;
  std::map<uint64_t, uint64_t> ranges_;  ///< Begin to end, as they are in `dma_`.
};

}  // namespace sluice::emulator
