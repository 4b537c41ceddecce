// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of a host in another process, mapped here: DPDK's, whose pieces stay as
// contiguous as they are there, rings, and what its application maps for the device. Bus
// addresses are the host's own.
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
/// back: address space is given back to the system only by ForgetFormer and on destruction, and
/// holds zeroes in between. The device must have stopped by then.
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
  /// area_bytes), which is the same for all of its pieces. Pieces that `stand_in` are copies of
  /// what the host has: the device finds no range with pieces of both kinds.
  struct Piece {
    uint64_t bus, bytes, offset, area_bus, area_bytes;
    bool stand_in = false;
  };
  /// Memory that overlaps the piece must be removed first. If the piece is a part of hugepages,
  /// they are mapped whole, but the device reaches the piece alone. Such a piece is not contiguous
  /// with any other piece.
  const char* AddMemory(const Piece& piece, int file);
  /// The range is unreachable afterwards, also if too many pieces are left of what was
  /// there for it to be unmapped. A piece always goes as a whole.
  const char* RemoveMemory(uint64_t bus, uint64_t bytes);
  /// Gives back the address space of memory that was taken back. The device does nothing until it
  /// has translated anew what it used.
  void ForgetFormer();

  /// Whether whole pages of some host's may lie there.
  static bool IsRange(uint64_t bus, uint64_t bytes);

  /// The first `bytes` of a sealed file.
  const char* AddRing(uint64_t bus, uint64_t bytes, int file);
  /// The part at `offset` of a file that need not be sealed.
  const char* AddExternal(uint64_t bus, uint64_t bytes, uint64_t offset, int file);
  /// Of both.
  const char* RemoveRing(uint64_t bus);

  static constexpr uint64_t kMaxBus = uint64_t{1} << 57;  ///< No process has addresses beyond it.
  /// Generous multiples of what DPDK reserves and of what devices have.
  static constexpr uint64_t kMaxAreaBytes = uint64_t{1} << 40;
  static constexpr uint64_t kMaxRingBytes = uint64_t{1} << 34;
  static constexpr uint64_t kPlacesBytes = uint64_t{1} << 40;
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
    MergedRanges stand_ins;
    Intervals pieces;  ///< What is mapped, by bus address.
    Intervals former;  ///< What was.

    uint8_t* Host(uint64_t bus) const {
      return reinterpret_cast<uint8_t*>(bus + ranges.distance());
    }
  };
  /// Memory that is mapped at any free address of PlaceSpace.
  struct Place {
    uint64_t bytes;  ///< That the device reaches.
    uint8_t* host;   ///< First byte of address space.
    uint64_t taken;  ///< Of address space.
  };
  using Places = std::map<uint64_t, Place>;  ///< By bus address.
  /// The address space of all places. Allocates the first free range that fits, in huge pages.
  struct PlaceSpace {
    ReservedSpace space;
    GuardedRange guard;
    Intervals free;
  };

  Area* FindArea(uint64_t bus, uint64_t bytes);
  const char* ReserveArea(const Piece& piece);
  size_t Mappings() const;
  const char* ReservePlaces();
  /// Maps the file's part at `offset`, widened to whole pages of `page` bytes, where there is room.
  const char* AddPlace(Places& places, uint64_t bus, uint64_t bytes, uint64_t offset, uint64_t page,
                       int file);
  Places::iterator RemovePlace(Places& places, Places::iterator place);
  void GiveSpaceBack(const Place& place);
  /// Null if there is no room.
  uint8_t* TakePlaceSpace(uint64_t bytes);

  bar::DmaSpace& dma_;
  const LossAlarm& alarm_;
  std::map<uint64_t, Area> areas_;  ///< By first bus address.
  Places rings_;                    ///< And external memory.
  Places parts_;                    ///< Pieces of memory that are parts of hugepages.
  std::optional<PlaceSpace> place_space_;
};

}  // namespace sluice::emulator
