// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipu/ipu_nic.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/ipu/parser.h"
#include "regs/ipu_port.h"
#include "regs/vectors.h"

namespace sluice::device::ipu {

using namespace regs::ipu;  // NOLINT: this file decodes that register map

namespace {

using namespace regs::ipu;  // NOLINT: this file decodes that register map

/// Return the RSS field bit for hashing only the frame's addresses (AddressBit), or its addresses
/// and ports (PortBit). Return 0 if the frame does not have them.
uint32_t AddressBit(const Headers& headers) {
  return headers.ip_version == 4 ? kRssIpv4 : headers.ip_version == 6 ? kRssIpv6 : 0;
}
uint32_t PortBit(const Headers& headers) {
  if (!headers.has_ports) return 0;
  const bool tcp = headers.protocol == 6;
  if (headers.ip_version == 4) return tcp ? kRssIpv4Tcp : kRssIpv4Udp;
  return tcp ? kRssIpv6Tcp : kRssIpv6Udp;
}

constexpr uint32_t kModelVersion = 1 << 16;  // 1.0.0

bool IsAccessSize(uint32_t bytes) { return bytes == 4 || bytes == 8; }
bool Within(uint32_t offset, uint32_t first, uint32_t bytes) {
  return offset >= first && offset - first < bytes;
}

uint32_t Half(uint64_t value, uint32_t offset) {
  return static_cast<uint32_t>(offset % 8 == 0 ? value : value >> 32);
}

}  // namespace

IpuNic::IpuNic(const bar::DmaSpace& dma, const IpuConfig& config)
    : dma_(dma),
      queue_pairs_(std::clamp(config.queue_pairs, 1u, kMaxQueues)),
      endpoint_count_(std::min(config.endpoints, queue_pairs_)) {
  Reset();
}

bool IpuNic::Accepts(const WireFrame& frame) const {
  const uint32_t control = port_[kPortControl / 4];
  if ((control & (kPortPromiscuous | kPortVlanFilter)) == kPortPromiscuous) return true;
  uint64_t station;
  std::memcpy(&station, &port_[kStationAddress / 4], 8);
  return filter_.Accepts(frame, control, station);
}

/// VLAN stripping, VLAN filtering and timestamps do not need classification: plain frames have no
/// tag and are not PTP.
bool IpuNic::NeedsClassify() const {
  return port_[kRssFields / 4] != 0 || !flows_.empty() ||
         (port_[kPortControl / 4] & (kPortChecksum | kPortIsolate)) != 0;
}

IpuNic::Route IpuNic::Classify(const WireFrame& frame) {
  const Headers headers = Parse(frame);
  uint16_t flags = 0;
  uint32_t hash = 0;
  const uint32_t fields = port_[kRssFields / 4];
  const uint32_t port_bit = fields & PortBit(headers);
  if (port_bit != 0 || (fields & AddressBit(headers)) != 0) {
    const bool v4 = headers.ip_version == 4;
    const uint8_t* const addresses = frame.data + headers.ip_offset + (v4 ? 12 : 8);
    hash = v4 ? rss_.Part(0, addresses, 8) : rss_.Part(0, addresses, 32);
    if (port_bit != 0) hash ^= rss_.Part(v4 ? 8 : 32, frame.data + headers.l4_offset, 4);
    flags |= kRxHashValid;
  }
  const auto* const reta = reinterpret_cast<const uint8_t*>(&port_[kReta / 4]);
  Route route{reta[hash % kRetaEntries], false, {hash, 0}, nullptr};
  if (port_[kPortControl / 4] & kPortChecksum) flags |= VerifyChecksums(frame, headers);
  if (!flows_.empty()) {
    if (FlowEntry* const rule = flows_.Lookup(frame, headers)) {
      route.rule = rule;
      route.drop = (rule->action & kFlowActionDrop) != 0;
      if (rule->action & kFlowActionQueue) route.queue = rule->action & kFlowActionQueueMask;
      if (rule->action & kFlowActionFlag) flags |= kRxFlowHit;
      if (rule->action & kFlowActionMark) {
        flags |= kRxFlowHit | kRxMarkValid;
        route.metadata.low |= uint64_t{rule->mark} << kRxMarkShift;
      }
    }
  }
  route.metadata.high = uint64_t{flags} << kRxFlagsShift | uint64_t{headers.packet_class}
                                                               << kRxClassShift;
  return route;
}

std::optional<Statistic> IpuNic::Place(const WireFrame& frame, bool pause) {
  if (frame.length < kMinFrameBytes) return kStatRxUndersize;
  if (frame.length > std::min(port_[kMaxFrame / 4], kMaxFrameBytes)) return kStatRxOversize;
  if (!Accepts(frame)) return kStatRxFiltered;
  const Route route = Classify(frame);
  const bool isolated = (port_[kPortControl / 4] & kPortIsolate) != 0;
  if (isolated && route.rule == nullptr) return kStatRxFiltered;
  const bool treated = (port_[kPortControl / 4] & (kPortVlanStrip | kPortTimesync)) != 0;
  const std::optional<Statistic> ending =
      treated ? PlaceTreated(route, frame, pause) : PlaceAt(route, frame, pause);
  // A frame that must wait will be classified again, so its hit is not counted yet.
  if (ending && route.rule != nullptr) {
    ++route.rule->use.hits;
    route.rule->hit_bytes += frame.length;
  }
  return ending;
}

std::optional<Statistic> IpuNic::PlaceAt(const Route& route, const WireFrame& frame, bool pause) {
  if (route.drop) return kStatRxFlowDrop;
  if (route.queue >= queue_pairs_) return kStatRxDisabled;
  if (links_[route.queue].enabled()) return PlaceInLink(links_[route.queue], frame, pause);
  if (endpoints_[route.queue].enabled()) {
    return PlaceInEndpoint(endpoints_[route.queue], frame, pause);
  }
  if (!rx_[route.queue].enabled()) return kStatRxDisabled;
  RxQueue& queue = rx_[route.queue];
  if (pause && !queue.HasRoom(frame.length)) return std::nullopt;
  switch (queue.Write(dma_, frame, route.metadata)) {
    case RxOutcome::kNoDescriptor:
      return kStatRxNoDescriptor;
    case RxOutcome::kOversize:
      return kStatRxOversize;
    case RxOutcome::kWaiting:
      return std::nullopt;
    case RxOutcome::kWritten:
      unpublished_ |= 1u << route.queue;
      return kStatRxFrames;
    case RxOutcome::kDmaFault:
      unpublished_ |= 1u << route.queue;
      break;
  }
  return kStatRxDmaFault;
}

std::optional<Statistic> IpuNic::PlaceTreated(Route route, const WireFrame& frame, bool pause) {
  if (route.drop || route.queue >= queue_pairs_ || !rx_[route.queue].enabled()) {
    return PlaceAt(route, frame, pause);
  }
  const uint32_t control = port_[kPortControl / 4];
  WireFrame rest = frame;
  if (control & kPortVlanStrip && HasTag(frame)) {
    constexpr uint32_t kAddressBytes = 12, kTagBytes = 4;
    constexpr uint64_t kLinkClass = uint64_t{0xf} << kRxClassShift;
    rest = {untagged_.data(), frame.length - kTagBytes};
    std::memcpy(untagged_.data(), frame.data, kAddressBytes);
    std::memcpy(untagged_.data() + kAddressBytes, frame.data + kAddressBytes + kTagBytes,
                rest.length - kAddressBytes);
    route.metadata.high &= ~kLinkClass;
    route.metadata.high |= uint64_t{LinkClass(rest)} << kRxClassShift;
    route.metadata.high |= RxTagBits(TagOf(frame));
    route.metadata.high |= uint64_t{kRxTag | kRxTagStripped} << kRxFlagsShift;
  }
  const bool ptp = (control & kPortTimesync) != 0 && rest.data[12] == kEtherTypePtp >> 8 &&
                   rest.data[13] == (kEtherTypePtp & 0xff);
  const bool stamped = ptp && clock_.received_ns() == 0;
  if (ptp) route.metadata.high |= uint64_t{kRxPtp} << kRxFlagsShift;
  if (stamped) route.metadata.high |= uint64_t{kRxStamped} << kRxFlagsShift;
  const std::optional<Statistic> ending = PlaceAt(route, rest, pause);
  if (stamped && ending == kStatRxFrames) clock_.StampReceived();
  return ending;
}

std::optional<Statistic> IpuNic::PlaceInLink(LinkQueue& link, const WireFrame& frame, bool pause) {
  if (frame.length > link.MaxFrame()) return kStatRxOversize;
  if (link.Write(frame, statistics_)) return kStatRxFrames;
  return pause ? std::nullopt : std::optional(kStatRxNoRegion);
}

std::optional<Statistic> IpuNic::PlaceInEndpoint(FrameEndpoint& endpoint, const WireFrame& frame,
                                                 bool pause) {
  if (frame.length > endpoint.MaxFrame()) return kStatRxOversize;
  if (endpoint.Write(frame, statistics_)) return kStatRxFrames;
  endpoint.Serve(clock_.Elapsed(), statistics_);
  if (!endpoint.enabled()) return kStatRxDisabled;
  if (endpoint.Write(frame, statistics_)) return kStatRxFrames;
  return pause ? std::nullopt : std::optional(kStatRxNoLine);
}

uint32_t IpuNic::PlacePlain(std::span<const WireFrame> frames) {
  const uint32_t queue = port_[kReta / 4] & 0xff;
  const uint32_t control = port_[kPortControl / 4];
  if (classify_ || (control & kPortPromiscuous) == 0) return 0;
  if (queue >= queue_pairs_) return 0;
  // RxQueue::WritePlain stops at tagged frames, but links and endpoints would write them
  // unfiltered.
  if ((control & kPortVlanFilter) != 0 &&
      (links_[queue].enabled() || endpoints_[queue].enabled())) {
    return 0;
  }
  const uint32_t max_frame = std::min(port_[kMaxFrame / 4], kMaxFrameBytes);
  uint64_t* const bytes = &statistics_[kStatRxBytes];
  uint32_t placed = 0;
  if (links_[queue].enabled()) {
    placed = links_[queue].WritePlain(frames, max_frame, bytes);
  } else if (endpoints_[queue].enabled()) {
    placed = endpoints_[queue].WritePlain(frames, max_frame, bytes, statistics_);
  } else if (rx_[queue].enabled()) {
    placed = rx_[queue].WritePlain(dma_, frames, max_frame, bytes);
    unpublished_ |= uint32_t{placed != 0} << queue;
  }
  statistics_[kStatRxFrames] += placed;
  return placed;
}

uint32_t IpuNic::Receive(std::span<const WireFrame> frames, bool pause) {
  if ((port_[kPortControl / 4] & kPortReceive) == 0) {
    if (pause) return 0;
    statistics_[kStatRxDisabled] += frames.size();
    return static_cast<uint32_t>(frames.size());
  }
  if (dma_.congested()) [[unlikely]]
    return 0;
  uint32_t taken = 0;
  while (taken < frames.size()) {
    taken += PlacePlain(frames.subspan(taken));
    if (taken == frames.size()) break;
    const std::optional<Statistic> ending = Place(frames[taken], pause);
    if (!ending) break;
    ++statistics_[*ending];
    if (*ending == kStatRxFrames) statistics_[kStatRxBytes] += frames[taken].length;
    ++taken;
  }
  const uint32_t due = unpublished_ & armed_;
  for (; unpublished_ != 0; unpublished_ &= unpublished_ - 1) {
    rx_[__builtin_ctz(unpublished_)].WriteBack();
  }
  if (due != 0) [[unlikely]]
    Fire(due);
  for (uint32_t left = with_endpoint_; left != 0; left &= left - 1) {
    FrameEndpoint& endpoint = endpoints_[__builtin_ctz(left)];
    if (endpoint.enabled()) endpoint.Answer(statistics_);
  }
  return taken;
}

void IpuNic::ServeHosts() {
  for (uint32_t left = linked_; left != 0; left &= left - 1) {
    links_[__builtin_ctz(left)].Serve(statistics_);
  }
  for (uint32_t left = with_endpoint_; left != 0; left &= left - 1) {
    FrameEndpoint& endpoint = endpoints_[__builtin_ctz(left)];
    if (endpoint.enabled()) endpoint.Serve(clock_.Elapsed(), statistics_);
  }
}

void IpuNic::Arm(uint32_t queue, uint64_t value) {
  const uint32_t bit = 1u << queue;
  armed_ &= ~bit;
  if ((value & kRingInterruptArm) == 0) return;
  armed_ |= bit;
  if (rx_[queue].enabled() && rx_[queue].published() != static_cast<uint32_t>(value)) Fire(bit);
}

void IpuNic::Fire(uint32_t queues) {
  armed_ &= ~queues;
  for (; interrupts_ != nullptr && queues != 0; queues &= queues - 1) {
    interrupts_->Raise(regs::QueueVector(__builtin_ctz(queues)));
  }
}

uint32_t IpuNic::Transmit(FrameSink& sink, uint32_t budget) {
  if (dma_.congested()) [[unlikely]]
    return 0;
  if (!flows_.ages().empty()) [[unlikely]] {
    if (flows_.ages().Look(clock_.Elapsed()) && interrupts_ != nullptr) {
      interrupts_->Raise(regs::kPortVector);
    }
  }
  ServeHosts();
  uint32_t handled = 0;
  for (uint32_t i = 0; i < queue_pairs_ && handled < budget; ++i) {
    TxQueue& queue = tx_[next_tx_];
    LinkQueue& link = links_[next_tx_];
    FrameEndpoint& endpoint = endpoints_[next_tx_];
    next_tx_ = next_tx_ + 1 == queue_pairs_ ? 0 : next_tx_ + 1;
    if (queue.pending()) {
      handled += queue.Run(dma_, staging_, sink, statistics_, clock_, budget - handled);
    } else if (link.enabled() && link.pending()) {
      handled += link.Run(staging_, sink, statistics_, budget - handled);
    } else if (endpoint.enabled() && endpoint.pending()) {
      handled += endpoint.Run(staging_, sink, statistics_, budget - handled);
    }
  }
  staging_.Flush(sink);
  // Answers loads and offers that were waiting only for the frames that have just been sent;
  // otherwise they would wait until the next step.
  ServeHosts();
  return handled;
}

std::span<const Counter> IpuNic::Counters() {
  for (uint32_t i = 0; i < kStatisticCount; ++i) counters_[i].value = statistics_[i];
  return counters_;
}

// Decodes the registers of IpuNic (regs/ipu.h) on the control path.

void IpuNic::Reset() {
  for (uint32_t i = 0; i < kMaxQueues; ++i) {
    rx_[i].Disable();  // Publishes the completed descriptors.
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

void IpuNic::HostDied(FrameSink& /*sink*/) {
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

// Decodes the registers at kEndpointBlock (regs/ipu.h) on the control path.

bool IpuNic::HasRingOrLink(uint32_t queue) const {
  return rx_[queue].enabled() || tx_[queue].enabled() || links_[queue].enabled();
}

void IpuNic::DisableEndpoint(uint32_t queue) {
  if (mastering_) {
    endpoints_[queue].Disable(statistics_);
  } else {
    endpoints_[queue].Abandon(statistics_);
  }
}

bool IpuNic::EnableEndpoint(uint32_t queue) {
  DisableEndpoint(queue);
  if (queue >= endpoint_count_ || HasRingOrLink(queue)) return false;
  const EndpointRegisters& registers = endpoint_registers_[queue];
  const bool sound = mastering_ && endpoints_[queue].Enable(dma_, registers.base, registers.bytes,
                                                            clock_.Elapsed());
  statistics_[kStatLineFaults] += !sound;
  return sound;
}

void IpuNic::WriteEndpoint(uint32_t queue, uint32_t offset, uint64_t value) {
  EndpointRegisters& registers = endpoint_registers_[queue];
  switch (offset) {
    case kEndpointBase:
      registers.base = value;
      break;
    case kEndpointBytes:
      registers.bytes = value;
      break;
    case kEndpointControl: {
      const uint32_t bit = 1u << queue;
      with_endpoint_ &= ~bit;
      if ((value & kEndpointEnable) == 0) {
        DisableEndpoint(queue);
      } else if (EnableEndpoint(queue)) {
        with_endpoint_ |= bit;
      }
      break;
    }
    default:
      break;
  }
}

uint64_t IpuNic::ReadEndpoint(uint32_t queue, uint32_t offset) const {
  switch (offset) {
    case kEndpointBase:
      return endpoint_registers_[queue].base;
    case kEndpointBytes:
      return endpoint_registers_[queue].bytes;
    case kEndpointStatus:
      return endpoints_[queue].enabled();
    default:
      return ~uint64_t{0};
  }
}

// Decodes the registers of IpuNic starting at kPortTables (regs/ipu_port.h) on the control path.

void IpuNic::WriteClock(uint32_t offset, uint64_t value) {
  if (offset == kClock) clock_.Set(value);
  if (offset == kClockAdjust) clock_.Adjust(static_cast<int64_t>(value));
}

void IpuNic::WritePortTables(uint32_t offset, uint32_t value) {
  if (Within(offset, kVlanTable, kVlanTableBytes)) {
    filter_.WriteVlans((offset - kVlanTable) / 4, value);
  } else if (Within(offset, kAddressTable, kAddressTableBytes)) {
    filter_.WriteAddress((offset - kAddressTable) / 4, value);
  } else if (offset == kStampTaken) {
    if (value & kStampRx) clock_.ClearReceived();
    if (value & kStampTx) clock_.ClearSent();
  } else if (Within(offset, kClock, kClockBlockBytes)) {
    if (offset % 8 == 0) {
      clock_low_ = value;
    } else {
      WriteClock(offset - 4, uint64_t{value} << 32 | clock_low_);
    }
  }
}

uint32_t IpuNic::ReadPortTables(uint32_t offset) const {
  if (Within(offset, kVlanTable, kVlanTableBytes)) {
    return filter_.ReadVlans((offset - kVlanTable) / 4);
  }
  if (Within(offset, kAddressTable, kAddressTableBytes)) {
    return filter_.ReadAddress((offset - kAddressTable) / 4);
  }
  switch (offset & ~7u) {
    case kClock:
      return Half(clock_.Now(), offset);
    case kRxStamp:
      return Half(clock_.received_ns(), offset);
    case kTxStampTime:
      return Half(clock_.sent_ns(), offset);
    default:
      return UINT32_MAX;
  }
}

}  // namespace sluice::device::ipu
