// SPDX-License-Identifier: BSD-3-Clause
//
// Maps the memory of a host in another process: DPDK's memory, with pieces as contiguous as in the
// host; rings; and memory that the host's application maps for the device. Bus addresses are the
// host's virtual addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "bar/dma.h"
#include "emulator/guarded_range.h"
#include "emulator/intervals.h"
#include "emulator/merged_ranges.h"

namespace sluice::emulator {

/// Reserved address space of this process, in which another process's files are mapped and
/// unmapped. Owns a range of address space, initially without memory. The whole range stays
/// reserved until destruction, so that no other mapping can be placed in it. Movable. Only one
/// thread may call the functions; any thread may access mapped memory.
class ReservedSpace {
 public:
  ReservedSpace() = default;
  /// The space is empty if the process has no free range of that size.
  explicit ReservedSpace(size_t bytes);
  ReservedSpace(ReservedSpace&& other) noexcept;
  ReservedSpace& operator=(ReservedSpace&&) = delete;
  ~ReservedSpace();

  explicit operator bool() const { return begin_ != nullptr; }
  uint8_t* begin() const { return begin_; }
  size_t bytes() const { return bytes_; }

  /// Maps the part of the file at `offset` to `at`, in whole pages of the file. Returns false on
  /// failure; the range then contains zeros or its previous mapping.
  bool MapFile(uint8_t* at, size_t bytes, int file, uint64_t offset);
  /// Replaces the mapping with zeros, for a device that may still access it. Throws std::bad_alloc
  /// if the system cannot map them.
  void Blank(uint8_t* at, size_t bytes);
  /// Restores the initial state without memory; the range must no longer be accessed. Throws like
  /// Blank.
  void Vacate(uint8_t* at, size_t bytes);

 private:
  void Cover(uint8_t* at, size_t bytes, int access);

  uint8_t* begin_ = nullptr;
  size_t bytes_ = 0;
};

/// The mapped memory of one host. Used by the control thread. The device may concurrently translate
/// addresses and access memory, including removed memory: removed address space reads as zeros
/// until ForgetFormer or the destructor releases it. The device must have stopped before the
/// release.
///
/// Every value comes from the host and is untrusted. Functions return null on success. On failure,
/// they return a one-line error and have no effect unless stated otherwise. They throw
/// std::bad_alloc if this process is out of memory; the object may then only be destroyed. Files
/// must be memory files of the claimed length, and ring files must be sealed. If a page is lost
/// anyway, the device reads zeros and the alarm is triggered.
class HostMappings {
 public:
  /// Both arguments must outlive this object.
  HostMappings(bar::DmaSpace& dma, const LossAlarm& alarm) : dma_(dma), alarm_(alarm) {}
  HostMappings(const HostMappings&) = delete;
  HostMappings& operator=(const HostMappings&) = delete;

  /// [bus, bus + bytes) maps the part of the file at `offset`. It is in the area [area_bus,
  /// area_bus + area_bytes), which must be the same for all pieces of the area. A `stand_in` piece
  /// is a copy of host memory; a contiguous range never contains both kinds of pieces.
  struct Piece {
    uint64_t bus, bytes, offset, area_bus, area_bytes;
    bool stand_in = false;
  };
  /// Adds a piece. Overlapping memory must be removed first. If the piece is only part of its
  /// hugepages, these are mapped completely, but the device can access only the piece, and the
  /// piece is not contiguous with any other.
  const char* AddMemory(const Piece& piece, int file);
  /// Removes a range. The device can no longer access the range, even if it could not be unmapped
  /// because too many pieces would remain. A piece that is only part of its hugepages is always
  /// removed as a whole.
  const char* RemoveMemory(uint64_t bus, uint64_t bytes);
  /// Releases the address space of removed memory. The device must not access memory until it has
  /// translated its addresses again.
  void ForgetFormer();

  /// Returns whether the range consists of whole pages at addresses that a host can use.
  static bool IsRange(uint64_t bus, uint64_t bytes);

  /// Adds a ring, which is the first `bytes` bytes of a sealed file.
  const char* AddRing(uint64_t bus, uint64_t bytes, int file);
  /// Adds external memory, which is the part at `offset` of a file that need not be sealed.
  const char* AddExternal(uint64_t bus, uint64_t bytes, uint64_t offset, int file);
  /// Removes memory that was added by AddRing or AddExternal.
  const char* RemoveRing(uint64_t bus);

  static constexpr uint64_t kMaxBus = uint64_t{1} << 57;  ///< Upper limit of virtual addresses.
  /// These limits are far above the memory that DPDK reserves and the sizes of its rings.
  static constexpr uint64_t kMaxAreaBytes = uint64_t{1} << 40;
  static constexpr uint64_t kMaxRingBytes = uint64_t{1} << 34;
  static constexpr uint64_t kPlacesBytes = uint64_t{1} << 40;
  static constexpr size_t kMaxAreas = 256;
  /// Maximum total number of rings, pieces and former pieces. Each of them needs at most two of the
  /// 65530 mappings that Linux allows a process by default.
  static constexpr size_t kMaxMappings = 28 * 1024;

 private:
  struct Area {
    uint64_t bytes;
    ReservedSpace space;  ///< Includes slack for alignment.
    GuardedRange guard;
    MergedRanges ranges;
    MergedRanges stand_ins;
    Intervals pieces;  ///< Mapped ranges, by bus address.
    Intervals former;  ///< Removed ranges.

    uint8_t* Host(uint64_t bus) const {
      return reinterpret_cast<uint8_t*>(bus + ranges.distance());
    }
  };
  /// Memory that was mapped at a free address in PlaceSpace.
  struct Place {
    uint64_t bytes;  ///< Number of bytes that the device can access.
    uint8_t* host;   ///< First byte of the address space.
    uint64_t taken;  ///< Size of the address space in bytes.
  };
  using Places = std::map<uint64_t, Place>;  ///< Keyed by bus address.
  /// The address space of all places. Allocates the first free range that fits, in units of huge
  /// pages.
  struct PlaceSpace {
    ReservedSpace space;
    GuardedRange guard;
    Intervals free;
  };

  Area* FindArea(uint64_t bus, uint64_t bytes);
  const char* ReserveArea(const Piece& piece);
  size_t Mappings() const;
  const char* ReservePlaces();
  /// Maps the part of the file at `offset`, extended to whole pages of `page` bytes, at a free
  /// address.
  const char* AddPlace(Places& places, uint64_t bus, uint64_t bytes, uint64_t offset, uint64_t page,
                       int file);
  Places::iterator RemovePlace(Places& places, Places::iterator place);
  void GiveSpaceBack(const Place& place);
  /// Returns null if no range is large enough.
  uint8_t* AllocatePlaceSpace(uint64_t bytes);

  bar::DmaSpace& dma_;
  const LossAlarm& alarm_;
  std::map<uint64_t, Area> areas_;  ///< Keyed by first bus address.
  Places rings_;                    ///< Rings and external memory.
  Places parts_;                    ///< Pieces that are only part of their hugepages.
  std::optional<PlaceSpace> place_space_;
};

}  // namespace sluice::emulator
