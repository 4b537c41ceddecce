// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipu/ipu_nic.h"

#include <algorithm>
#include <cstring>

#include "device/ipu/parser.h"
#include "regs/vectors.h"

namespace sluice::device::ipu {
namespace {

using namespace regs::ipu;  // NOLINT: this file decodes that register map

/// Return the RSS field bit for hashing the frame's addresses alone (AddressBit), or its addresses
/// and ports (PortBit); 0 if the frame lacks them.
uint32_t AddressBit(const Headers& headers) {
  return headers.ip_version == 4 ? kRssIpv4 : headers.ip_version == 6 ? kRssIpv6 : 0;
}
uint32_t PortBit(const Headers& headers) {
  if (!headers.has_ports) return 0;
  const bool tcp = headers.protocol == 6;
  if (headers.ip_version == 4) return tcp ? kRssIpv4Tcp : kRssIpv4Udp;
  return tcp ? kRssIpv6Tcp : kRssIpv6Udp;
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
  // A frame that waits will be classified again, so its hit is not counted yet.
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
  // Answers loads and offers that waited only for the frames just sent; otherwise they would wait
  // for the next step.
  ServeHosts();
  return handled;
}

std::span<const Counter> IpuNic::Counters() {
  for (uint32_t i = 0; i < kStatisticCount; ++i) counters_[i].value = statistics_[i];
  return counters_;
}

}  // namespace sluice::device::ipu
