// SPDX-License-Identifier: BSD-3-Clause
//
// The memory that a client makes accessible to the device, addressed by the function's bus
// addresses (IOVA): a virtual machine's memory, or the mappings of its IOMMU. A ring may span
// adjacent maps, so adjacent maps with files are also contiguous in this process, and so are
// adjacent maps without files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "bar/dma.h"
#include "emulator/channel.h"
#include "emulator/guarded_range.h"
#include "emulator/host_mappings.h"
#include "emulator/vfio_user/message_dma.h"
#include "emulator/vfio_user/protocol.h"

namespace sluice::emulator::vfio_user {

/// The memory of one client. Every value comes from the client and is untrusted. Functions throw
/// std::bad_alloc if this process is out of memory; the object may then only be destroyed. If a
/// file loses a page, the device reads zeros and the alarm is triggered.
class GuestMemory {
 public:
  /// All arguments must outlive this object.
  GuestMemory(bar::DmaSpace& dma, MessageDma& messages, const LossAlarm& alarm)
      : dma_(dma), messages_(messages), mappings_(dma, alarm) {}

  /// Adds a map. Returns null, or the reason for a rejection; a rejected map has no effect. The
  /// device can access a map that is readable and writable: through its file, which must be a
  /// memory file, or through messages if it has no file. Other maps are recorded, and an access to
  /// them is a fault. A map without a file may be added only while the device is stopped.
  const char* Map(const DmaMap& map, const base::OwnedFd& file);
  /// Returns null, or a message if the range cannot be unmapped because that would split a map.
  const char* WhyNotUnmap(const DmaUnmap& unmap) const;
  /// Removes maps. WhyNotUnmap must have returned null, and the device must remain stopped until it
  /// has translated its addresses again.
  void Unmap(const DmaUnmap& unmap);

  /// Discards all copies of the client's memory and frees their pages. The device must be stopped.
  void ForgetCopies();

  /// Addresses are grouped into areas. The memory of one machine is in only a few of them.
  static constexpr uint64_t kAreaBytes = HostMappings::kMaxAreaBytes;
  static constexpr size_t kMaxAreas = 32;
  /// Number of maps that are guaranteed to fit, wherever they are in these areas; advertised to the
  /// client.
  static constexpr size_t kMapsAnywhere = 10'000;
  /// Maximum number of maps. This many fit only if most of them are adjacent.
  static constexpr size_t kMaxMaps = 28'000;

 private:
  // A map consists of one piece in each of its areas, and a change temporarily needs two more
  // pieces. The PCI function also uses one range.
  static_assert(kMapsAnywhere + kMaxAreas + 3 <= bar::DmaSpace::kMaxRanges);
  static_assert(kMaxMaps + kMaxAreas + 2 <= HostMappings::kMaxMappings);

  struct Entry {
    uint64_t bytes;
    bool reachable;
    bool copied;  ///< The map is accessed through messages.
  };
  using Maps = std::map<uint64_t, Entry>;

  bool Overlaps(uint64_t begin, uint64_t end) const;
  const char* Reach(const DmaMap& map, const base::OwnedFd& file, bool stand_in);
  /// Registers the copy for a map that Reach has added.
  void AddCopies(const DmaMap& map);
  void Withdraw(uint64_t begin, uint64_t end);

  bar::DmaSpace& dma_;
  MessageDma& messages_;
  HostMappings mappings_;
  base::OwnedFd copies_;      ///< Sparse file for maps without a file: byte n is address n.
  std::set<uint64_t> areas_;  ///< Indices of the areas of all current and earlier maps with files.
  Maps maps_;                 ///< Keyed by address.
};

}  // namespace sluice::emulator::vfio_user
