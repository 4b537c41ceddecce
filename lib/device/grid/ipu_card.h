// SPDX-License-Identifier: BSD-3-Clause
//
// State of the packetized NIC on a card (regs/ipu.h): its rings, without links, endpoints, flow
// rules, time stamps, interrupts and segmentation.
#pragma once

#include <cstdint>

#include "device/grid/card.h"
#include "regs/ipu.h"
#include "regs/ipu_port.h"

namespace sluice::device::grid {

inline constexpr uint32_t kIpuQueues = regs::ipu::kMaxQueues;

/// A ring and its size in one word, so that blocks read both at once: the address is a multiple of
/// 64, and below it stands the logarithm of the entries. 0: there is none.
class RingPlace {
 public:
  RingPlace() = default;
  explicit RingPlace(uint64_t word) : word_(word) {}
  RingPlace(const uint8_t* ring, uint32_t entries)
      : word_(reinterpret_cast<uint64_t>(ring) | static_cast<uint32_t>(__builtin_ctz(entries))) {}

  uint64_t word() const { return word_; }
  bool enabled() const { return word_ != 0; }
  uint32_t entries() const { return 1u << (word_ & kLogMask); }
  /// Descriptor number `index`, of any lap.
  uint8_t* At(uint32_t index) const {
    auto* const ring = reinterpret_cast<uint8_t*>(word_ & ~kLogMask);
    return ring + uint64_t{index & (entries() - 1)} * regs::ipu::kDescriptorBytes;
  }

 private:
  static constexpr uint64_t kLogMask = 63;

  uint64_t word_ = 0;
};

/// Indices are free-running counts of descriptors.
struct alignas(64) IpuRing {
  // One access of 16 bytes reads these three.
  uint32_t tail;   ///< Posted by software.
  uint32_t epoch;  ///< TX: odd while the ring is enabled; grows with each change.
  uint64_t place;  ///< A RingPlace.
  // Of the blocks that work on the ring.
  uint32_t head;  ///< Completed.
  /// Completed, or about to be: stored before the host can see a completion, which it may answer
  /// with a doorbell at once. RX: promised to batches.
  uint32_t reserved;
  uint32_t busy;  ///< TX: a block may complete descriptors.
  // As the host stored them.
  uint32_t entries;
  uint64_t base;
  uint32_t buffer_bytes;
};

/// What receive blocks must know of a ring.
struct IpuRxSettings {
  uint64_t place;  ///< A RingPlace.
  uint32_t room;   ///< Bytes of each buffer.
  uint32_t scatter;
};

/// Nibbles of the longest input of the hash: IPv6 addresses and ports.
inline constexpr uint32_t kHashNibbles = 2 * 36;

/// All that steers frames. Receive blocks have copies.
struct IpuSettings {
  uint32_t port[regs::ipu::kStatistics / 4];  ///< Register file of page 0, by word.
  uint32_t vlans[regs::ipu::kVlanTableBytes / 4];
  uint32_t addresses[regs::ipu::kAddressTableBytes / 4];
  uint32_t addresses_used;  ///< Entries up to the last valid one.
  uint32_t segments;        ///< Descriptors that a frame may need at most.
  uint32_t batch_frames;    ///< Frames that a receive block takes at once.
  uint32_t reserved;
  uint32_t toeplitz[kHashNibbles][16];  ///< What each nibble of the input adds to the hash.
  IpuRxSettings rings[kIpuQueues];
};
static_assert(sizeof(IpuSettings) % sizeof(uint64_t) == 0);

struct IpuCard : Card {
  uint32_t control_lock = 0;  ///< Held by a lane that changes settings.
  uint32_t config = 2;        ///< Grows with each change of `settings`; odd meanwhile.
  IpuSettings settings{};
  uint32_t most_frames = 0;  ///< Frames of a batch at most, whatever the rings are.
  uint8_t* staging = nullptr;

  IpuRing rx[kIpuQueues] = {};
  IpuRing tx[kIpuQueues] = {};

  // Of the register block alone.
  uint32_t address_low = 0;  ///< Of an entry whose upper half is to come.
  uint32_t clock_low = 0;
  uint64_t clock_offset = 0;  ///< From the card's clock to the port's.
  uint32_t flow_status = 0;

  void Count(regs::ipu::Statistic statistic, uint64_t amount = 1) {
    Add(&counters.model[statistic], amount);
  }
};
static_assert(regs::ipu::kStatisticCount <= kMaxModelEvents);

/// The ring at `base`, or none if size, alignment or mapping are wrong.
inline RingPlace FindRing(const Card& card, uint64_t base, uint32_t entries) {
  if (entries < regs::ipu::kMinRing || entries > regs::ipu::kMaxRing ||
      (entries & (entries - 1)) != 0 || base % 64 != 0) {
    return {};
  }
  const uint8_t* const ring =
      card.dma.Translate(base, uint64_t{entries} * regs::ipu::kDescriptorBytes);
  if (ring == nullptr || reinterpret_cast<uintptr_t>(ring) % 64 != 0) return {};
  return {ring, entries};
}

}  // namespace sluice::device::grid
