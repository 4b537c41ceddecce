// SPDX-License-Identifier: BSD-3-Clause
//
// The register file of the packetized NIC on a card: the register block decodes regs/ipu.h like
// device/ipu/ipu_nic.cc. It rejects flow rules, as if the table were full, and rings with
// timestamps.
#pragma once

#include <cstdint>

#include "device/grid/endpoint_control.h"
#include "device/grid/ipu_card.h"
#include "device/grid/ipu_link_open.h"
#include "device/grid/wire.h"

namespace sluice::device::grid {

class IpuRegisters {
 public:
  explicit IpuRegisters(IpuCard& card) : card_(card) {}

  template <typename Writes>
  void Write(uint32_t offset, uint32_t bytes, uint64_t value, Writes&) {
    using namespace regs::ipu;
    if ((bytes != 4 && bytes != 8) || offset % bytes != 0 || offset >= kBarBytes) return;
    const uint32_t page = offset / kPageBytes, within = offset % kPageBytes;
    if (page != 0) {
      if (page <= kIpuQueues) WriteQueue(page - 1, within, value);
      return;
    }
    WritePort(within, static_cast<uint32_t>(value));
    if (bytes == 8) WritePort(within + 4, static_cast<uint32_t>(value >> 32));
  }

  uint64_t Read(uint32_t offset, uint32_t bytes) const {
    using namespace regs::ipu;
    if ((bytes != 4 && bytes != 8) || offset % bytes != 0 || offset >= kBarBytes) {
      return ~uint64_t{0};
    }
    const uint32_t page = offset / kPageBytes, within = offset % kPageBytes;
    uint64_t value = ~uint64_t{0};
    if (page == 0) {
      value = ReadPort(within);
      if (bytes == 8) value |= uint64_t{ReadPort(within + 4)} << 32;
    } else if (page <= kIpuQueues) {
      value = ReadQueue(page - 1, within);
    }
    return bytes == 4 ? static_cast<uint32_t>(value) : value;
  }

  /// Disables an endpoint whose host has violated the protocol, unless the endpoint has been
  /// reopened since `epoch`. Called by the endpoint's block.
  void CloseFaulty(uint32_t queue, uint32_t epoch) {
    Change([&] {
      if (card_.endpoints[queue].epoch == epoch) ControlEndpoint(queue, false);
    });
  }

 private:
  static bool IsIn(uint32_t offset, uint32_t first, uint32_t bytes) {
    return offset >= first && offset - first < bytes;
  }
  static uint32_t Half(uint64_t value, uint32_t offset) {
    return static_cast<uint32_t>(offset % 8 == 0 ? value : value >> 32);
  }

  static void Lock(uint32_t* lock) {
    while (CompareExchange(lock, 0, 1) != 0) Relax();
    FenceCard();
  }
  static void Unlock(uint32_t* lock) {
    FenceCard();
    Store(lock, 0u);
  }

  /// Calls f, which changes settings, while no batch that was steered with the old settings is in
  /// progress.
  template <typename F>
  void Change(F f) {
    Lock(&card_.control_lock);
    const uint32_t config = Add(&card_.config, 1u);
    FenceCard();
    AwaitBatches(card_.wire);
    f();
    FenceCard();
    Store(&card_.config, config + 2);
    Unlock(&card_.control_lock);
  }

  void WritePort(uint32_t offset, uint32_t value) {
    using namespace regs::ipu;
    if (offset == kReset) {
      if (value == kResetMagic) Change([&] { Reset(); });
    } else if (offset == kFlowCommand) {
      RunFlowCommand(value);
    } else if (IsIn(offset, kClock, kClockBlockBytes)) {
      WriteClock(offset, value);
    } else if (IsIn(offset, kVlanTable, kVlanTableBytes)) {
      Change([&] { Store(&card_.settings.vlans[(offset - kVlanTable) / 4], value); });
    } else if (IsIn(offset, kAddressTable, kAddressTableBytes)) {
      WriteAddress((offset - kAddressTable) / 4, value);
    } else if (offset >= kPortControl && offset < kFlowStatus) {
      Change([&] {
        Store(&card_.settings.port[offset / 4], value);
        if (offset == kRssKey + kRssKeyBytes - 4) SetKey();
      });
    }
  }

  /// Computes the hash contributions of the key: bit b of the input contributes the 32 bits of the
  /// key that start at bit b (Microsoft RSS specification).
  void SetKey() {
    const auto key_byte = [&](uint32_t at) -> uint64_t {
      if (at >= regs::ipu::kRssKeyBytes) return 0;
      return card_.settings.port[(regs::ipu::kRssKey + at) / 4] >> at % 4 * 8 & 0xff;
    };
    for (uint32_t nibble = 0; nibble < kHashNibbles; ++nibble) {
      uint64_t bits = 0;
      for (uint32_t i = 0; i < 5; ++i) bits = bits << 8 | key_byte(nibble / 2 + i);
      if (nibble % 2 == 1) bits <<= 4;
      for (uint32_t value = 0; value < 16; ++value) {
        uint32_t hash = 0;
        for (uint32_t bit = 0; bit < 4; ++bit) {
          if ((value & (8u >> bit)) != 0) hash ^= static_cast<uint32_t>(bits >> (8 - bit));
        }
        Store(&card_.settings.toeplitz[nibble][value], hash);
      }
    }
  }

  void WriteAddress(uint32_t word, uint32_t value) {
    if (word % 2 == 0) {
      card_.address_low = value;
      return;
    }
    Change([&] {
      uint32_t* const words = card_.settings.addresses;
      Store(&words[word - 1], card_.address_low);
      Store(&words[word], value);
      uint32_t used = regs::ipu::kAddresses;
      while (used != 0 && (words[2 * used - 1] >> 31) == 0) --used;
      Store(&card_.settings.addresses_used, used);
    });
  }

  void WriteClock(uint32_t offset, uint32_t value) {
    using namespace regs::ipu;
    const uint64_t both = uint64_t{value} << 32 | card_.clock_low;
    if (offset % 8 == 0) card_.clock_low = value;
    if (offset == kClock + 4) card_.clock_offset = both - NowNs();
    if (offset == kClockAdjust + 4) card_.clock_offset += both;
  }

  void RunFlowCommand(uint32_t command) {
    using namespace regs::ipu;
    FlowStatus status = FlowStatus::kInvalid;
    if (command == static_cast<uint32_t>(FlowCommand::kAdd)) status = FlowStatus::kFull;
    if (command == static_cast<uint32_t>(FlowCommand::kFlush)) status = FlowStatus::kOk;
    if (command == static_cast<uint32_t>(FlowCommand::kRemove) ||
        command == static_cast<uint32_t>(FlowCommand::kQuery) ||
        command == static_cast<uint32_t>(FlowCommand::kQueryAndClear) ||
        command == static_cast<uint32_t>(FlowCommand::kPopAged)) {
      status = FlowStatus::kAbsent;
    }
    card_.flow_status = static_cast<uint32_t>(status);
  }

  uint32_t ReadPort(uint32_t offset) const {
    using namespace regs::ipu;
    constexpr uint32_t kModelVersion = 1 << 16;  // 1.0.0, like the CPU model.
    if (IsIn(offset, kStatistics, 8 * kStatisticCount)) {
      return Half(Load(&card_.counters.model[(offset - kStatistics) / 8]), offset);
    }
    if (IsIn(offset, kVlanTable, kVlanTableBytes)) {
      return card_.settings.vlans[(offset - kVlanTable) / 4];
    }
    if (IsIn(offset, kAddressTable, kAddressTableBytes)) {
      return card_.settings.addresses[(offset - kAddressTable) / 4];
    }
    switch (offset & ~7u) {
      case kPermanentAddress:
        return Half(card_.address, offset);
      case kClock:
        return Half(NowNs() + card_.clock_offset, offset);
      case kRxStamp:
      case kTxStampTime:
      case kFlowHits:
      case kFlowHitBytes:
        return 0;
      default:
        break;
    }
    if (offset == kDeviceId) return kDeviceIdValue;
    if (offset == kQueuePairs) return kIpuQueues;
    if (offset == kEndpoints) return kIpuQueues;
    if (offset == kFirmware) return kModelVersion;
    if (offset == kPortStatus) return kPortCarrier;
    if (offset == kFlowStatus) return card_.flow_status;
    return offset < kFlowStatus ? card_.settings.port[offset / 4] : UINT32_MAX;
  }

  void WriteQueue(uint32_t queue, uint32_t offset, uint64_t value) {
    using namespace regs::ipu;
    if (offset >= kEndpointBlock) return WriteEndpoint(queue, offset - kEndpointBlock, value);
    if (offset >= kLinkBlock) return WriteLink(queue, offset - kLinkBlock, value);
    const bool transmit = offset >= kTxBlock;
    IpuRing& ring = transmit ? card_.tx[queue] : card_.rx[queue];
    const uint32_t reg = transmit ? offset - kTxBlock : offset;
    if (reg == kRingTail) return RingDoorbell(ring, static_cast<uint32_t>(value));
    if (reg == kRingBase) Store(&ring.base, value);
    if (reg == kRingEntries) Store(&ring.entries, static_cast<uint32_t>(value));
    if (reg == kRingBuffer) Store(&ring.buffer_bytes, static_cast<uint32_t>(value));
    if (reg != kRingControl) return;
    // Checked while the lock is held, because another lane may open an endpoint or a link for this
    // queue pair.
    const auto is_free = [&] { return card_.gates[queue].has(IpuExchange::kNone); };
    if (transmit) {
      Lock(&card_.control_lock);
      if (is_free()) ControlTx(ring, (value & kRingEnable) != 0);
      Unlock(&card_.control_lock);
    } else {
      Change([&] {
        if (is_free()) ControlRx(queue, static_cast<uint32_t>(value));
      });
    }
  }

  void WriteEndpoint(uint32_t queue, uint32_t offset, uint64_t value) {
    using namespace regs::ipu;
    if (offset == kEndpointBase) Store(&card_.endpoints[queue].base, value);
    if (offset == kEndpointBytes) Store(&card_.endpoints[queue].bytes, value);
    if (offset != kEndpointControl) return;
    Change([&] { ControlEndpoint(queue, (value & kEndpointEnable) != 0); });
  }
  /// Like ControlLink, for an endpoint.
  void ControlEndpoint(uint32_t queue, bool enable) {
    CloseEndpoint(card_, queue);
    const bool used =
        Load(&card_.settings.rings[queue].place) != 0 || Load(&card_.tx[queue].place) != 0;
    if (enable && !used && !OpenEndpoint(card_, queue)) card_.Count(regs::ipu::kStatLineFaults);
    SizeBatches();
  }

  void WriteLink(uint32_t queue, uint32_t offset, uint64_t value) {
    using namespace regs::ipu;
    IpuLink& link = card_.links[queue];
    if (offset == kLinkBase) Store(&link.base, value);
    if (offset == kLinkBytes) Store(&link.bytes, value);
    if (offset == kLinkEpoch) Store(&link.epoch, static_cast<uint16_t>(value));
    if (offset != kLinkControl) return;
    Change([&] {
      if (card_.gates[queue].has(IpuExchange::kEndpoint)) return;
      ControlLink(queue, (value & kLinkEnable) != 0);
    });
  }

  /// Disables a queue pair's link and, if `enable` is set, reopens it. Called within Change.
  void ControlLink(uint32_t queue, bool enable) {
    IpuRxSettings settings = card_.settings.rings[queue];
    const bool linked = card_.gates[queue].has(IpuExchange::kLink);
    card_.gates[queue].Close();
    if (linked) settings = {};
    if (enable && settings.place == 0 && Load(&card_.tx[queue].place) == 0) {
      IpuLinkOpener opener(card_, queue);
      if (opener.Open()) {
        settings = opener.Settings();
        card_.gates[queue].Open(IpuExchange::kLink);
      } else {
        card_.Count(regs::ipu::kStatLinkFaults);
      }
    }
    StoreSettings(queue, settings);
  }

  /// Stores the settings with which receive blocks write to a queue. Called within Change.
  void StoreSettings(uint32_t queue, const IpuRxSettings& from) {
    IpuRxSettings& settings = card_.settings.rings[queue];
    Store(&settings.place, from.place);
    Store(&settings.room, from.room);
    Store(&settings.flags, from.flags);
    SizeBatches();
  }

  void RingDoorbell(IpuRing& ring, uint32_t tail) {
    const RingPlace place(Load(&ring.place));
    if (!place.enabled() || tail - Load(&ring.reserved) > place.entries() ||
        tail - Load(&ring.tail) > place.entries()) {
      return card_.Count(regs::ipu::kStatBadDoorbell);
    }
    StoreRelease(&ring.tail, tail);  // Announces descriptors.
  }

  /// Handles a store to a receive ring's control register. Called within Change.
  void ControlRx(uint32_t queue, uint32_t control) {
    using namespace regs::ipu;
    IpuRing& ring = card_.rx[queue];
    const uint32_t room = Load(&ring.buffer_bytes);
    RingPlace place;
    if ((control & kRingEnable) != 0 && (control & kRingStamp) == 0 && room >= kMinBuffer &&
        room <= UINT16_MAX) {
      place = ring.Find(card_.dma);
      Store(&ring.head, 0u);
    }
    Store(&ring.tail, 0u);
    Store(&ring.reserved, 0u);
    Store(&ring.place, place.word());
    StoreSettings(queue, {place.word(), room, (control & kRingScatter) != 0 ? kRxScatters : 0});
  }

  /// Limits a batch to a quarter of all descriptors, so that batches overlap.
  void SizeBatches() {
    uint32_t descriptors = 0, segments = 1;
    for (uint32_t i = 0; i < kIpuQueues; ++i) {
      const IpuRxSettings& ring = card_.settings.rings[i];
      if (ring.place == 0) continue;
      descriptors += RingPlace(ring.place).entries();
      const uint32_t needed = (card_.wire.shape.largest * kFlitBytes + ring.room - 1) / ring.room;
      if ((ring.flags & kRxScatters) != 0 && needed > segments) segments = needed;
    }
    uint32_t frames = descriptors / 4 / segments;
    if (frames > kBatchFrames / segments) frames = kBatchFrames / segments;
    if (frames > card_.most_frames) frames = card_.most_frames;
    Store(&card_.settings.segments, segments);
    Store(&card_.settings.batch_frames, frames == 0 ? 1u : frames);
  }

  /// Enables or disables a transmit ring. The caller must hold the control lock.
  void ControlTx(IpuRing& ring, bool enable) {
    const uint32_t off = (Load(&ring.epoch) | 1) + 1;
    Exchange(&ring.epoch, off);
    while (Add(&ring.busy, 0u) != 0) Relax();
    FenceCard();
    const RingPlace place = enable ? ring.Find(card_.dma) : RingPlace();
    Store(&ring.place, place.word());
    if (!enable) return;
    Store(&ring.tail, 0u);
    Store(&ring.head, 0u);
    Store(&ring.reserved, 0u);
    if (!place.enabled()) return;
    FenceCard();
    Store(&ring.epoch, off + 1);
  }

  /// Resets all rings and settings. Called within Change.
  void Reset() {
    for (uint32_t i = 0; i < kIpuQueues; ++i) {
      for (IpuRing* const ring : {&card_.rx[i], &card_.tx[i]}) {
        Store(&ring->base, uint64_t{0});
        Store(&ring->entries, 0u);
        Store(&ring->buffer_bytes, 0u);
      }
      Store(&card_.endpoints[i].base, uint64_t{0});
      Store(&card_.endpoints[i].bytes, uint64_t{0});
      ControlEndpoint(i, false);
      Store(&card_.links[i].base, uint64_t{0});
      Store(&card_.links[i].bytes, uint64_t{0});
      Store(&card_.links[i].epoch, uint16_t{0});
      ControlLink(i, false);
      ControlRx(i, 0);
      ControlTx(card_.tx[i], false);
      Store(&card_.rx[i].head, 0u);
      Store(&card_.tx[i].head, 0u);
    }
    auto* const words = reinterpret_cast<uint32_t*>(&card_.settings);
    for (uint32_t i = 0; i < sizeof(IpuSettings) / sizeof(uint32_t); ++i) Store(&words[i], 0u);
    SizeBatches();
    card_.clock_offset = 0;
    card_.flow_status = 0;
  }

  uint64_t ReadQueue(uint32_t queue, uint32_t offset) const {
    using namespace regs::ipu;
    if (offset == kEndpointBlock + kEndpointBase) return Load(&card_.endpoints[queue].base);
    if (offset == kEndpointBlock + kEndpointBytes) return Load(&card_.endpoints[queue].bytes);
    if (offset == kEndpointBlock + kEndpointStatus) return HasEndpoint(card_, queue);
    if (offset >= kLinkBlock) {
      const IpuLink& link = card_.links[queue];
      if (offset == kLinkBlock + kLinkBase) return Load(&link.base);
      if (offset == kLinkBlock + kLinkBytes) return Load(&link.bytes);
      if (offset == kLinkBlock + kLinkEpoch) return Load(&link.epoch);
      const bool is_status = offset == kLinkBlock + kLinkStatus;
      return is_status ? card_.gates[queue].has(IpuExchange::kLink) : ~uint64_t{0};
    }
    const bool transmit = offset >= kTxBlock;
    const IpuRing& ring = transmit ? card_.tx[queue] : card_.rx[queue];
    const uint32_t reg = transmit ? offset - kTxBlock : offset;
    if (reg == kRingBase) return Load(&ring.base);
    if (reg == kRingEntries) return Load(&ring.entries);
    if (reg == kRingBuffer) return Load(&ring.buffer_bytes);
    if (reg == kRingStatus) return Load(&ring.place) != 0 ? 1 : 0;
    if (reg == kRingHead) return Load(&ring.head);
    return ~uint64_t{0};
  }

  /// Waits until all batches that have been fetched are published.
  static void AwaitBatches(const Wire& wire) {
    const uint64_t taken = Load(&wire.taken);
    while (static_cast<int64_t>(Load(&wire.published) - taken) < 0) Relax();
    FenceCard();
  }

  IpuCard& card_;
};

}  // namespace sluice::device::grid
