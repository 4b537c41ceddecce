// SPDX-License-Identifier: BSD-3-Clause
//
// State of the packetized NIC on a card (regs/ipu.h). It has rings, links and endpoints, but
// not flow rules, timestamps, interrupts or segmentation.
#pragma once

#include <cstdint>

#include "device/grid/card.h"
#include "device/grid/endpoint_state.h"
#include "device/grid/ipu_link.h"
#include "regs/ipu.h"
#include "regs/ipu_port.h"

namespace sluice::device::grid {

inline constexpr uint32_t kIpuQueues = regs::ipu::kMaxQueues;

/// A ring's address and size in one word, so that blocks can read both at once. The address is a
/// multiple of 64; the low 6 bits contain the base-2 logarithm of the number of entries. 0 if
/// disabled.
class RingPlace {
 public:
  RingPlace() = default;
  explicit RingPlace(uint64_t word) : word_(word) {}
  RingPlace(const uint8_t* ring, uint32_t entries)
      : word_(reinterpret_cast<uint64_t>(ring) | static_cast<uint32_t>(__builtin_ctz(entries))) {}

  uint64_t word() const { return word_; }
  bool enabled() const { return word_ != 0; }
  uint32_t entries() const { return 1u << (word_ & kLogMask); }
  /// Returns the descriptor with the free-running index `index`.
  uint8_t* At(uint32_t index) const {
    auto* const ring = reinterpret_cast<uint8_t*>(word_ & ~kLogMask);
    return ring + uint64_t{index & (entries() - 1)} * regs::ipu::kDescriptorBytes;
  }

 private:
  static constexpr uint64_t kLogMask = 63;

  uint64_t word_ = 0;
};

/// Returns the ring at `base`, or a disabled ring if size, alignment or mapping is invalid.
inline RingPlace FindRing(const DmaTable& dma, uint64_t base, uint32_t entries) {
  if (entries < regs::ipu::kMinRing || entries > regs::ipu::kMaxRing ||
      (entries & (entries - 1)) != 0 || base % 64 != 0) {
    return {};
  }
  const uint8_t* const ring = dma.Translate(base, uint64_t{entries} * regs::ipu::kDescriptorBytes);
  if (ring == nullptr || reinterpret_cast<uintptr_t>(ring) % 64 != 0) return {};
  return {ring, entries};
}

/// Indices are free-running counts of descriptors.
struct alignas(64) IpuRing {
  // One 16-byte access reads the next three members.
  uint32_t tail;   ///< End of the descriptors posted by software.
  uint32_t epoch;  ///< TX: odd while the ring is enabled; incremented on each change.
  uint64_t place;  ///< A RingPlace.
  // Owned by the blocks that work on the ring.
  uint32_t head;  ///< End of the completed descriptors.
  /// End of the descriptors that are completed or about to be completed. Stored before the host can
  /// see a completion, because the host may immediately respond with a doorbell. RX: end of the
  /// descriptors that are reserved for batches.
  uint32_t reserved;
  uint32_t busy;  ///< TX: 1 while a block may complete descriptors.
  // Registers. The host may store to them at any time, so each use reads them only once.
  uint32_t entries;
  uint64_t base;
  uint32_t buffer_bytes;
  uint64_t opened_base;  ///< The base that Find last read.

  /// Finds the ring that the registers describe. Returns a disabled ring if size, alignment or
  /// mapping is invalid.
  RingPlace Find(const DmaTable& dma) {
    opened_base = Load(&base);
    return FindRing(dma, opened_base, Load(&entries));
  }
  /// Returns whether the ring is disabled or its memory is still mapped to the same address.
  bool Reachable(const DmaTable& dma) const {
    const RingPlace ring(place);
    return !ring.enabled() || FindRing(dma, opened_base, ring.entries()).word() == place;
  }
};

/// Settings that receive blocks need to write to a ring.
struct IpuRxSettings {
  uint64_t place;  ///< A RingPlace.
  uint32_t room;   ///< Size of each buffer, in bytes.
  uint32_t flags;  ///< kRx… flags.
};
inline constexpr uint32_t kRxScatters = 1u << 0;  ///< A frame may span buffers.
/// The ring and its buffers are in the card's memory (ipu_fifo.h), because the queue pair has an
/// endpoint.
inline constexpr uint32_t kRxOnCard = 1u << 1;
/// The queue pair has a link. The bits from kRxHeadroomShift up contain the headroom of its frames,
/// in units of 64 bytes.
inline constexpr uint32_t kRxLinked = 1u << 2;
inline constexpr uint32_t kRxHeadroomShift = 8;

/// Protocols that replace the rings of a queue pair.
enum class IpuExchange : uint32_t { kNone, kLink, kEndpoint };

/// Grants the exchange block of a queue pair the right to work on the pair. Before the register
/// block changes the pair's state, it sets `kind` to kNone and then waits until `busy` is 0.
struct alignas(64) IpuExchangeGate {
  uint32_t kind;  ///< An IpuExchange.
  uint32_t busy;  ///< 1 while the exchange block may work on the pair.

  bool has(IpuExchange protocol) const { return Load(&kind) == static_cast<uint32_t>(protocol); }
  /// Called by the exchange block. Returns the pair's protocol, which the block may then use until
  /// Leave, or kNone.
  uint64_t Enter() {
    if (has(IpuExchange::kNone)) return 0;
    grid::Exchange(&busy, 1);
    FenceCard();
    const uint32_t protocol = LoadAcquire(&kind);
    if (protocol == 0) Leave();
    return protocol;
  }
  void Leave() {
    FenceCard();
    Store(&busy, 0u);
  }
  /// Waits until the exchange block no longer works on the pair. Called by the register block.
  void Close() {
    grid::Exchange(&kind, static_cast<uint32_t>(IpuExchange::kNone));
    FenceCard();
    while (Add(&busy, 0u) != 0) Relax();
    FenceCard();
  }
  void Open(IpuExchange protocol) {
    FenceCard();
    Store(&kind, static_cast<uint32_t>(protocol));
  }
};

/// Number of nibbles in the longest hash input: IPv6 addresses and ports.
inline constexpr uint32_t kHashNibbles = 2 * 36;

/// All settings that steer frames. Receive blocks copy them.
struct IpuSettings {
  uint32_t port[regs::ipu::kStatistics / 4];  ///< Register file of page 0, indexed by word.
  uint32_t vlans[regs::ipu::kVlanTableBytes / 4];
  uint32_t addresses[regs::ipu::kAddressTableBytes / 4];
  uint32_t addresses_used;  ///< Index of the last valid entry plus 1.
  uint32_t segments;        ///< Maximum number of descriptors per frame.
  uint32_t batch_frames;    ///< Maximum number of frames per batch.
  uint32_t reserved;
  uint32_t toeplitz[kHashNibbles][16];  ///< Contribution of each nibble of the input to the hash.
  IpuRxSettings rings[kIpuQueues];
};
static_assert(sizeof(IpuSettings) % sizeof(uint64_t) == 0);

struct IpuCard : Card {
  uint32_t control_lock = 0;  ///< Held by the lane that is changing settings.
  /// Incremented at the beginning and the end of each change of `settings`; odd during the change.
  uint32_t config = 2;
  IpuSettings settings{};
  uint32_t most_frames = 0;  ///< Maximum number of frames per batch, before small rings reduce it.
  uint8_t* staging = nullptr;

  IpuRing rx[kIpuQueues] = {};
  IpuRing tx[kIpuQueues] = {};
  IpuExchangeGate gates[kIpuQueues] = {};
  IpuLink links[kIpuQueues] = {};
  IpuEndpoint endpoints[kIpuQueues] = {};

  // Used only by the register block.
  uint32_t address_low = 0;  ///< Low half of an address-table entry whose high half has not been
                             ///< written yet.
  uint32_t clock_low = 0;
  uint64_t clock_offset = 0;  ///< Added to the card's clock to compute the port's clock.
  uint32_t flow_status = 0;

  void Count(regs::ipu::Statistic statistic, uint64_t amount = 1) {
    Add(&counters.model[statistic], amount);
  }
};
static_assert(regs::ipu::kStatisticCount <= kMaxModelEvents);

}  // namespace sluice::device::grid
