// SPDX-License-Identifier: BSD-3-Clause
//
// Decodes the registers of IpuNic (regs/ipu.h) on the control path.
#include <algorithm>
#include <bit>
#include <cstring>

#include "device/ipu/ipu_nic.h"
#include "regs/ipu_port.h"

namespace sluice::device::ipu {

using namespace regs::ipu;  // NOLINT: this file decodes that register map

namespace {

constexpr uint32_t kModelVersion = 1 << 16;  // 1.0.0

bool IsAccessSize(uint32_t bytes) { return bytes == 4 || bytes == 8; }
bool Within(uint32_t offset, uint32_t first, uint32_t bytes) {
  return offset >= first && offset - first < bytes;
}

}  // namespace

void IpuNic::Reset() {
  for (uint32_t i = 0; i < kMaxQueues; ++i) {
    rx_[i].Disable();  // Publishes completed descriptors.
    rx_[i] = {};
    tx_[i] = {};
    links_[i].Disable();
    DisableEndpoint(i);
    queue_registers_[i] = {};
    link_registers_[i] = {};
    endpoint_registers_[i] = {};
  }
  linked_ = with_endpoint_ = armed_ = 0;
  port_ = {};
  flows_.Clear();
  flow_status_ = static_cast<uint32_t>(FlowStatus::kOk);
  flow_hits_ = flow_hit_bytes_ = 0;
  classify_ = false;
  filter_ = Filter();
  clock_.Reset();
  rss_ = RssHash();
}

void IpuNic::SetPermanentAddress(std::span<const uint8_t, 6> address) {
  permanent_address_ = 0;
  std::memcpy(&permanent_address_, address.data(), address.size());
}

void IpuNic::MemoryTaken() {
  for (uint32_t i = 0; i < kMaxQueues; ++i) {
    statistics_[kStatRxDmaFault] += !rx_[i].Recheck(dma_);
    statistics_[kStatTxDmaFault] += !tx_[i].Recheck(dma_);
    if (links_[i].enabled() && !links_[i].Reachable(dma_)) {
      links_[i].Disable();
      linked_ &= ~(1u << i);
      ++statistics_[kStatLinkFaults];
    }
    if (endpoints_[i].enabled() && !endpoints_[i].Reachable(dma_)) {
      endpoints_[i].Abandon(statistics_);
      with_endpoint_ &= ~(1u << i);
      ++statistics_[kStatLineFaults];
    }
  }
}

void IpuNic::HostDied() {
  for (FrameEndpoint& endpoint : endpoints_) endpoint.Abandon(statistics_);
  with_endpoint_ = 0;
}

void IpuNic::WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) {
  if (!IsAccessSize(bytes) || offset % bytes != 0 || offset >= kBarBytes) return;
  const uint32_t page = offset / kPageBytes;
  const uint32_t within = offset % kPageBytes;
  if (page == 0) {
    WritePort(within, static_cast<uint32_t>(value));
    if (bytes == 8) WritePort(within + 4, static_cast<uint32_t>(value >> 32));
  } else if (page <= queue_pairs_) {
    WriteQueue(page - 1, within, value);
  }
}

uint64_t IpuNic::ReadRegister(uint32_t offset, uint32_t bytes) {
  if (!IsAccessSize(bytes) || offset % bytes != 0 || offset >= kBarBytes) return ~uint64_t{0};
  const uint32_t page = offset / kPageBytes;
  const uint32_t within = offset % kPageBytes;
  uint64_t value = ~uint64_t{0};
  if (page == 0) {
    value = ReadPort(within);
    if (bytes == 8) value |= uint64_t{ReadPort(within + 4)} << 32;
  } else if (page <= queue_pairs_) {
    value = ReadQueue(page - 1, within);
  }
  return bytes == 4 ? static_cast<uint32_t>(value) : value;
}

void IpuNic::WritePort(uint32_t offset, uint32_t value) {
  if (offset == kReset) {
    if (value == kResetMagic) Reset();
    return;
  }
  if (offset == kFlowCommand) return RunFlowCommand(value);
  if (offset >= kPortTables) return WritePortTables(offset, value);
  if (offset < kPortControl || offset >= kFlowStatus) return;
  port_[offset / 4] = value;
  if (offset == kRssKey + kRssKeyBytes - 4) {
    std::array<uint8_t, kRssKeyBytes> key;
    std::memcpy(key.data(), &port_[kRssKey / 4], kRssKeyBytes);
    rss_.SetKey(key);
  }
  classify_ = NeedsClassify();
}

uint32_t IpuNic::ReadPort(uint32_t offset) const {
  if (Within(offset, kStatistics, 8 * kStatisticCount)) {
    const uint64_t value = statistics_[(offset - kStatistics) / 8];
    return static_cast<uint32_t>(offset % 8 == 0 ? value : value >> 32);
  }
  switch (offset) {
    case kDeviceId:
      return kDeviceIdValue;
    case kQueuePairs:
      return queue_pairs_;
    case kEndpoints:
      return endpoint_count_;
    case kFirmware:
      return kModelVersion;
    case kPortStatus:
      return carrier_ ? kPortCarrier : 0;
    case kPermanentAddress:
      return static_cast<uint32_t>(permanent_address_);
    case kPermanentAddress + 4:
      return static_cast<uint32_t>(permanent_address_ >> 32);
    case kFlowStatus:
      return flow_status_;
    case kFlowHits:
      return static_cast<uint32_t>(flow_hits_);
    case kFlowHits + 4:
      return static_cast<uint32_t>(flow_hits_ >> 32);
    case kFlowHitBytes:
      return static_cast<uint32_t>(flow_hit_bytes_);
    case kFlowHitBytes + 4:
      return static_cast<uint32_t>(flow_hit_bytes_ >> 32);
    default:
      if (offset >= kPortTables) return ReadPortTables(offset);
      return offset < kFlowStatus ? port_[offset / 4] : UINT32_MAX;
  }
}

FlowAge IpuNic::Age() const {
  constexpr uint64_t kSecond_ns = 1'000'000'000;
  FlowAge age{port_[kFlowAge / 4] * kSecond_ns, 0};
  std::memcpy(&age.cookie, &port_[kFlowCookie / 4], sizeof(age.cookie));
  return age;
}

void IpuNic::RunFlowCommand(uint32_t command) {
  FlowKey key{};
  key.fields = port_[kFlowFields / 4];
  key.protocol = port_[kFlowProtocol / 4];
  key.ports = port_[kFlowPorts / 4];
  std::memcpy(key.source.data(), &port_[kFlowSource / 4], key.source.size());
  std::memcpy(key.destination.data(), &port_[kFlowDestination / 4], key.destination.size());
  key.shape = port_[kFlowShape / 4];
  std::memcpy(&key.ether_source, &port_[kFlowEtherSource / 4], sizeof(key.ether_source));
  std::memcpy(&key.ether_destination, &port_[kFlowEtherDestination / 4],
              sizeof(key.ether_destination));
  FlowEntry entry;
  entry.action = port_[kFlowAction / 4];
  entry.mark = port_[kFlowMark / 4];
  const auto report = [this](const FlowEntry& rule) {
    flow_hits_ = rule.use.hits - rule.cleared_hits;
    flow_hit_bytes_ = rule.hit_bytes - rule.cleared_bytes;
  };
  FlowStatus status = FlowStatus::kInvalid;
  const bool valid = (key.fields & ~kFlowMatchAll) == 0;
  const bool queue_valid = (entry.action & kFlowActionQueueMask) < queue_pairs_;
  switch (static_cast<FlowCommand>(command)) {
    case FlowCommand::kAdd:
      if (valid && queue_valid) status = flows_.Add(key, entry, Age(), clock_.Elapsed());
      break;
    case FlowCommand::kRemove:
      status = flows_.Remove(key, &entry);
      if (status == FlowStatus::kOk) report(entry);
      break;
    case FlowCommand::kQuery:
    case FlowCommand::kQueryAndClear:
      status = FlowStatus::kAbsent;
      if (FlowEntry* const rule = flows_.Find(key)) {
        report(*rule);
        if (command == static_cast<uint32_t>(FlowCommand::kQueryAndClear)) {
          rule->cleared_hits = rule->use.hits;
          rule->cleared_bytes = rule->hit_bytes;
        }
        status = FlowStatus::kOk;
      }
      break;
    case FlowCommand::kFlush:
      flows_.Clear();
      status = FlowStatus::kOk;
      break;
    case FlowCommand::kPopAged: {
      const std::optional<uint64_t> cookie = flows_.ages().Pop();
      status = cookie ? FlowStatus::kOk : FlowStatus::kAbsent;
      flow_hits_ = cookie.value_or(0);
      break;
    }
  }
  flow_status_ = static_cast<uint32_t>(status);
  classify_ = NeedsClassify();
}

void IpuNic::WriteQueue(uint32_t queue, uint32_t offset, uint64_t value) {
  if (offset >= kEndpointBlock) return WriteEndpoint(queue, offset - kEndpointBlock, value);
  if (offset >= kLinkBlock) return WriteLink(queue, offset - kLinkBlock, value);
  const bool transmit = offset >= kTxBlock;
  QueueRegisters& registers = queue_registers_[queue][transmit];
  switch (transmit ? offset - kTxBlock : offset) {
    case kRingBase:
      registers.base = value;
      break;
    case kRingEntries:
      registers.entries = static_cast<uint32_t>(value);
      break;
    case kRingBuffer:
      registers.buffer_bytes = static_cast<uint32_t>(value);
      break;
    case kRingControl:
      if ((value & kRingEnable) == 0) {
        transmit ? tx_[queue].Disable() : rx_[queue].Disable();
      } else if (links_[queue].enabled() || endpoints_[queue].enabled()) {
        break;
      } else if (transmit) {
        tx_[queue].Enable(dma_, registers.base, registers.entries);
      } else {
        rx_[queue].Enable(dma_, registers.base, registers.entries, registers.buffer_bytes,
                          (value & kRingScatter) != 0,
                          (value & kRingStamp) != 0 ? &clock_ : nullptr);
      }
      break;
    case kRingInterrupt:
      if (!transmit) Arm(queue, value);
      break;
    case kRingTail: {
      const auto tail = static_cast<uint32_t>(value);
      if (!(transmit ? tx_[queue].SetTail(tail) : rx_[queue].SetTail(tail))) {
        ++statistics_[kStatBadDoorbell];
      }
      break;
    }
    default:
      break;
  }
}

uint64_t IpuNic::ReadQueue(uint32_t queue, uint32_t offset) const {
  if (offset >= kEndpointBlock) return ReadEndpoint(queue, offset - kEndpointBlock);
  if (offset >= kLinkBlock) return ReadLink(queue, offset - kLinkBlock);
  const bool transmit = offset >= kTxBlock;
  const QueueRegisters& registers = queue_registers_[queue][transmit];
  switch (transmit ? offset - kTxBlock : offset) {
    case kRingBase:
      return registers.base;
    case kRingEntries:
      return registers.entries;
    case kRingBuffer:
      return registers.buffer_bytes;
    case kRingStatus:
      return transmit ? tx_[queue].enabled() : rx_[queue].enabled();
    case kRingHead:
      return transmit ? tx_[queue].head() : rx_[queue].head();
    default:
      return ~uint64_t{0};
  }
}

bool IpuNic::EnableLink(uint32_t queue) {
  links_[queue].Disable();
  if (rx_[queue].enabled() || tx_[queue].enabled() || endpoints_[queue].enabled()) return false;
  const LinkRegisters& registers = link_registers_[queue];
  const bool sound =
      mastering_ && links_[queue].Enable(dma_, registers.base, registers.bytes, registers.epoch);
  statistics_[kStatLinkFaults] += !sound;
  return sound;
}

void IpuNic::WriteLink(uint32_t queue, uint32_t offset, uint64_t value) {
  LinkRegisters& registers = link_registers_[queue];
  switch (offset) {
    case kLinkBase:
      registers.base = value;
      break;
    case kLinkBytes:
      registers.bytes = value;
      break;
    case kLinkEpoch:
      registers.epoch = static_cast<uint16_t>(value);
      break;
    case kLinkControl: {
      const uint32_t bit = 1u << queue;
      linked_ &= ~bit;
      if ((value & kLinkEnable) == 0) {
        links_[queue].Disable();
      } else if (EnableLink(queue)) {
        linked_ |= bit;
      }
      break;
    }
    default:
      break;
  }
}

uint64_t IpuNic::ReadLink(uint32_t queue, uint32_t offset) const {
  const LinkRegisters& registers = link_registers_[queue];
  switch (offset) {
    case kLinkBase:
      return registers.base;
    case kLinkBytes:
      return registers.bytes;
    case kLinkEpoch:
      return registers.epoch;
    case kLinkStatus:
      return links_[queue].enabled();
    default:
      return ~uint64_t{0};
  }
}

}  // namespace sluice::device::ipu
