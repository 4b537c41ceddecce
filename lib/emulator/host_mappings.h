// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of a host in another process, mapped here: DPDK's, whose pieces stay as
// contiguous as they are there, and rings. Bus addresses are the host's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "bar/dma.h"
#include "emulator/guarded_range.h"
#include "emulator/merged_ranges.h"

namespace sluice::emulator {

/// Control thread. The device may translate and access meanwhile, also what was taken
/// back: address space is given back to the system only on destruction, and holds zeroes
/// in between. The device must have stopped by then.
///
/// Every value comes from the host. Functions return null, or one line that says what is
/// wrong, without effect then. Files are checked to be as long as is claimed, and rings to
/// be sealed; where another file is cut off later, the device finds zeroes.
class HostMappings {
 public:
  explicit HostMappings(bar::DmaSpace& dma) : dma_(dma) {}
  ~HostMappings();
  HostMappings(const HostMappings&) = delete;
  HostMappings& operator=(const HostMappings&) = delete;

  /// [bus, bus + bytes) is the file's part at `offset`, and lies in [area_bus, area_bus +
  /// area_bytes), which is the same for all of its pieces.
  struct Piece {
    uint64_t bus, bytes, offset, area_bus, area_bytes;
  };
  const char* AddMemory(const Piece& piece, int file);
  const char* RemoveMemory(uint64_t bus, uint64_t bytes);

  /// The first `bytes` of a sealed file.
  const char* AddRing(uint64_t bus, uint64_t bytes, int file);
  const char* RemoveRing(uint64_t bus);

  /// Generous multiples of what DPDK reserves and of what devices have.
  static constexpr uint64_t kMaxAreaBytes = uint64_t{1} << 40;
  static constexpr uint64_t kMaxRingBytes = uint64_t{1} << 34;
  static constexpr size_t kMaxAreas = 256;

 private:
  struct Area {
    uint64_t bytes;
    void* reserved;  ///< With slack, for alignment.
    size_t reserved_bytes;
    GuardedRange guard;
    MergedRanges ranges;
  };
  struct Ring {
    uint8_t* host;
    uint64_t bytes;
  };

  Area* FindArea(uint64_t bus, uint64_t bytes);
  const char* ReserveArea(const Piece& piece);

  bar::DmaSpace& dma_;
  std::map<uint64_t, Area> areas_;             ///< By first bus address.
  std::map<uint64_t, Ring> rings_;             ///< By bus address.
  std::multimap<uint64_t, uint8_t*> retired_;  ///< Address space of former rings, by size.
};

}  // namespace sluice::emulator
