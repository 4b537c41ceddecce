// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that is added and removed in pieces but is stored in a DmaSpace as only a few ranges.
// Adjacent pieces are merged, because a DPDK allocation may span them.
#pragma once

#include <cstdint>
#include <map>

#include "bar/dma.h"

namespace sluice::emulator {

/// Ranges of a DmaSpace whose addresses in this process equal their bus addresses + `distance`. Not
/// thread-safe, except that the device may translate addresses at any time.
class MergedRanges {
 public:
  /// `dma` must outlive this object. The destructor does not remove the ranges.
  MergedRanges(bar::DmaSpace& dma, uint64_t distance) : dma_(dma), distance_(distance) {}

  /// Makes [begin, end) accessible; parts of it may already be accessible. Returns false if no slot
  /// is free.
  bool Insert(uint64_t begin, uint64_t end);
  /// Makes [begin, end) inaccessible. Returns false if additional bytes became inaccessible because
  /// no slot was free.
  bool Erase(uint64_t begin, uint64_t end);

  uint64_t distance() const { return distance_; }

 private:
  bar::DmaSpace::Mapping Map(uint64_t begin, uint64_t end) const;

  bar::DmaSpace& dma_;
  const uint64_t distance_;
  /// Maps the start of a range to its end, as stored in `dma_`.
  std::map<uint64_t, uint64_t> ranges_;
};

}  // namespace sluice::emulator
