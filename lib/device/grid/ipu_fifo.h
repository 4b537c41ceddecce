// SPDX-License-Identifier: BSD-3-Clause
//
// Card memory outside the card structure: areas in which blocks collect the frames that the host
// sends, and queues of received frames. A queue is a receive ring whose descriptors and buffers are
// in card memory: receive blocks fill it like one of the host's rings, and an exchange block
// consumes it like a driver. Descriptor i always belongs to buffer i, so the consumer only advances
// the tail.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/grid/ipu_card.h"
#include "device/grid/wire_state.h"

namespace sluice::device::grid {

/// Bytes of the area in which a block collects the frames of one turn.
inline constexpr uint32_t kIpuStagingBytes = kBatchFlits * kFlitBytes;

/// A queue of received frames in the card's memory.
class CardFifo {
 public:
  static constexpr uint32_t kMaxEntries = 1024;
  static constexpr uint32_t kDataBytes = 8u << 20;
  static constexpr size_t kBytes = size_t{kMaxEntries} * regs::ipu::kDescriptorBytes + kDataBytes;

  /// Finds the memory of queue pair `queue`.
  CardFifo(const IpuCard& card, uint32_t queue)
      : slot_bytes_(card.wire.shape.largest * kFlitBytes),
        data_(card.staging + 2 * size_t{kIpuQueues} * kIpuStagingBytes + queue * kBytes) {}

  /// Returns the number of entries that fit. Each slot can contain a frame of any length.
  uint32_t entries() const {
    uint32_t entries = kMaxEntries;
    while (entries * slot_bytes_ > kDataBytes) entries /= 2;
    return entries;
  }
  RingPlace ring() const { return {data_ + kDataBytes, entries()}; }
  /// Returns the buffer of the ring's descriptor `slot`; it is 64-byte aligned.
  uint8_t* Slot(uint32_t slot) const { return data_ + uint64_t{slot} * slot_bytes_; }

 private:
  uint32_t slot_bytes_;
  uint8_t* data_;
};

/// Returns the area of a transmit block or, for ExchangeStaging, of an exchange block. Blocks
/// beyond the number of queues are idle and have no area.
inline uint8_t* SendStaging(const IpuCard& card, uint32_t block) {
  return card.staging + size_t{block} * kIpuStagingBytes;
}
inline uint8_t* ExchangeStaging(const IpuCard& card, uint32_t block) {
  return SendStaging(card, kIpuQueues + block);
}
/// Total bytes of this memory.
inline constexpr size_t kIpuCardMemoryBytes =
    kIpuQueues * (2 * size_t{kIpuStagingBytes} + CardFifo::kBytes);

}  // namespace sluice::device::grid
