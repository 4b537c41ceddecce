// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of a host in another process, mapped here: DPDK's, whose pieces stay as
// contiguous as they are there, and rings. Bus addresses are the host's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "bar/dma.h"
#include "emulator/guarded_range.h"
#include "emulator/intervals.h"
#include "emulator/merged_ranges.h"
#include "emulator/reserved_space.h"

namespace sluice::emulator {

/// Control thread. The device may translate and access meanwhile, also what was taken
/// back: address space is given back to the system only on destruction, and holds zeroes
/// in between. The device must have stopped by then.
///
/// Every value comes from the host. Functions return null, or one line that says what is
/// wrong, without effect then but for what they say; they throw std::bad_alloc if this
/// process has no room, after which the object is good for destruction alone. Files are
/// checked to be memory and as long as is claimed, and rings to be sealed. Where a page is
/// gone all the same, the device finds zeroes, and the alarm rings.
class HostMappings {
 public:
  /// Both outlive this object.
  HostMappings(bar::DmaSpace& dma, const LossAlarm& alarm) : dma_(dma), alarm_(alarm) {}
  HostMappings(const HostMappings&) = delete;
  HostMappings& operator=(const HostMappings&) = delete;

  /// [bus, bus + bytes) is the file's part at `offset`, and lies in [area_bus, area_bus +
  /// area_bytes), which is the same for all of its pieces.
  struct Piece {
    uint64_t bus, bytes, offset, area_bus, area_bytes;
  };
  /// What is there already must be removed first.
  const char* AddMemory(const Piece& piece, int file);
  /// The range is unreachable afterwards, also if too many pieces are left of what was
  /// there for it to be unmapped.
  const char* RemoveMemory(uint64_t bus, uint64_t bytes);

  /// The first `bytes` of a sealed file.
  const char* AddRing(uint64_t bus, uint64_t bytes, int file);
  const char* RemoveRing(uint64_t bus);

  /// Generous multiples of what DPDK reserves and of what devices have.
  static constexpr uint64_t kMaxAreaBytes = uint64_t{1} << 40;
  static constexpr uint64_t kMaxRingBytes = uint64_t{1} << 34;
  static constexpr uint64_t kRingSpaceBytes = uint64_t{1} << 38;
  static constexpr size_t kMaxAreas = 256;
  /// Rings, pieces and former pieces. Each costs at most two of the mappings that Linux
  /// allows a process by default, 65530.
  static constexpr size_t kMaxMappings = 28 * 1024;

 private:
  struct Area {
    uint64_t bytes;
    ReservedSpace space;  ///< With slack, for alignment.
    GuardedRange guard;
    MergedRanges ranges;
    Intervals pieces;  ///< What is mapped, by bus address.
    Intervals former;  ///< What was.

    uint8_t* Host(uint64_t bus) const {
      return reinterpret_cast<uint8_t*>(bus + ranges.distance());
    }
  };
  struct Ring {
    uint8_t* host;
    uint64_t bytes;  ///< Of address space.
  };
  /// Where rings are: first fit in what is free, in units of huge pages.
  struct RingSpace {
    ReservedSpace space;
    GuardedRange guard;
    Intervals free;
  };

  Area* FindArea(uint64_t bus, uint64_t bytes);
  const char* ReserveArea(const Piece& piece);
  size_t Mappings() const;
  const char* ReserveRings();
  /// Null if there is no room.
  uint8_t* TakeRingSpace(uint64_t bytes);

  bar::DmaSpace& dma_;
  const LossAlarm& alarm_;
  std::map<uint64_t, Area> areas_;  ///< By first bus address.
  std::map<uint64_t, Ring> rings_;  ///< By bus address.
  std::optional<RingSpace> ring_space_;
};

}  // namespace sluice::emulator
