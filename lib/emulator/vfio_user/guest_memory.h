// SPDX-License-Identifier: BSD-3-Clause
//
// The memory that a client lets the device reach, by the addresses that the function sees (IOVA):
// a virtual machine's memory, or what its IOMMU maps. Adjacent maps with files are contiguous here,
// too, and so are those without: a ring may lie across them.
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

/// Every value comes from the client. Functions throw std::bad_alloc if this process has no room;
/// the object is good for destruction alone then. Where a file lost a page the device finds zeroes
/// and the alarm rings.
class GuestMemory {
 public:
  /// All outlive this object.
  GuestMemory(bar::DmaSpace& dma, MessageDma& messages, const LossAlarm& alarm)
      : dma_(dma), messages_(messages), mappings_(dma, alarm) {}

  /// Null, or why there is no such map; nothing has changed then. The device reaches a map that is
  /// readable and writable: by its file, which is in memory, or without one by messages. It knows
  /// of the others, and an access there is a fault. A map without a file: while the device does
  /// nothing.
  const char* Map(const DmaMap& map, const File& file);
  /// Null, or why no maps go with this: it would cut one in two.
  const char* WhyNotUnmap(const DmaUnmap& unmap) const;
  /// WhyNotUnmap said nothing, and the device does nothing until it has translated anew what it
  /// used.
  void Unmap(const DmaUnmap& unmap);

  /// Gives the memory of copies back, while the device does nothing.
  void ForgetCopies();

  /// Addresses come in areas; what a machine has lies in few of them.
  static constexpr uint64_t kAreaBytes = HostMappings::kMaxAreaBytes;
  static constexpr size_t kMaxAreas = 32;
  /// So many maps find room wherever they lie in these areas, and the client is told so.
  static constexpr size_t kMapsAnywhere = 10'000;
  /// So many do where few of them are apart.
  static constexpr size_t kMaxMaps = 28'000;

 private:
  // A map is one piece in each of its areas, and a change takes two more for a moment. The function
  // has a range of its own.
  static_assert(kMapsAnywhere + kMaxAreas + 3 <= bar::DmaSpace::kMaxRanges);
  static_assert(kMaxMaps + kMaxAreas + 2 <= HostMappings::kMaxMappings);

  struct Entry {
    uint64_t bytes;
    bool reachable;
    bool copied;  ///< By messages.
  };
  using Maps = std::map<uint64_t, Entry>;

  bool Overlaps(uint64_t begin, uint64_t end) const;
  const char* Reach(const DmaMap& map, const File& file, bool stand_in);
  /// Of a map that Reach has put there.
  void AddCopies(const DmaMap& map);
  void Withdraw(uint64_t begin, uint64_t end);

  bar::DmaSpace& dma_;
  MessageDma& messages_;
  HostMappings mappings_;
  File copies_;               ///< For maps without a file: byte n stands for address n. Sparse.
  std::set<uint64_t> areas_;  ///< By number: the files' maps of all times lie there.
  Maps maps_;                 ///< By address.
};

}  // namespace sluice::emulator::vfio_user
