// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipu/ipu_nic.h"

#include <algorithm>
#include <cstring>

#include "device/ipu/parser.h"

namespace sluice::device::ipu {
namespace {

using namespace regs::ipu;  // NOLINT: this file decodes that register map

/// The RSS field bit of addresses alone, and of addresses and ports, for a kind.
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
    : dma_(dma), queue_pairs_(std::clamp(config.queue_pairs, 1u, kMaxQueues)),
      endpoint_count_(std::min(config.endpoints, queue_pairs_)) {
  for (uint32_t i = 0; i < kStatisticCount; ++i) counters_[i] = {kStatisticNames[i], 0};
  Reset();
}

bool IpuNic::Accepts(const uint8_t* destination) const {
  const uint32_t control = port_[kPortControl / 4];
  if (control & kPortPromiscuous) return true;
  uint64_t address = 0;
  uint64_t station;
  std::memcpy(&address, destination, 6);
  std::memcpy(&station, &port_[kStationAddress / 4], 8);
  constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;
  if (address == (station & kAddressMask) || address == kAddressMask) return true;
  return (control & kPortAllMulticast) != 0 && (destination[0] & 1) != 0;
}

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
  if (!Accepts(frame.data)) return kStatRxFiltered;
  const Route route = Classify(frame);
  const bool isolated = (port_[kPortControl / 4] & kPortIsolate) != 0;
  if (isolated && route.rule == nullptr) return kStatRxFiltered;
  const std::optional<Statistic> ending = PlaceAt(route, frame, pause);
  // A frame that waits is classified again.
  if (ending && route.rule != nullptr) {
    ++route.rule->hits;
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
  unpublished_ |= 1u << route.queue;
  switch (queue.Write(dma_, frame, route.metadata)) {
    case RxOutcome::kWritten:
      return kStatRxFrames;
    case RxOutcome::kNoDescriptor:
      return kStatRxNoDescriptor;
    case RxOutcome::kOversize:
      return kStatRxOversize;
    case RxOutcome::kDmaFault:
      break;
  }
  return kStatRxDmaFault;
}

std::optional<Statistic> IpuNic::PlaceInLink(LinkQueue& link, const WireFrame& frame,
                                             bool pause) {
  if (frame.length > link.MaxFrame()) return kStatRxOversize;
  if (link.Write(frame, statistics_)) return kStatRxFrames;
  return pause ? std::nullopt : std::optional(kStatRxNoRegion);
}

std::optional<Statistic> IpuNic::PlaceInEndpoint(FrameEndpoint& endpoint, const WireFrame& frame,
                                                 bool pause) {
  if (frame.length > endpoint.MaxFrame()) return kStatRxOversize;
  if (endpoint.Write(frame, statistics_)) return kStatRxFrames;
  endpoint.Serve(now_ns_, statistics_);
  if (!endpoint.enabled()) return kStatRxDisabled;
  if (endpoint.Write(frame, statistics_)) return kStatRxFrames;
  return pause ? std::nullopt : std::optional(kStatRxNoLine);
}

uint32_t IpuNic::PlacePlain(std::span<const WireFrame> frames) {
  const uint32_t queue = port_[kReta / 4] & 0xff;
  if (classify_ || (port_[kPortControl / 4] & kPortPromiscuous) == 0) return 0;
  if (queue >= queue_pairs_) return 0;
  const uint32_t max_frame = std::min(port_[kMaxFrame / 4], kMaxFrameBytes);
  uint64_t* const bytes = &statistics_[kStatRxBytes];
  uint32_t placed = 0;
  if (links_[queue].enabled()) {
    placed = links_[queue].WritePlain(frames, max_frame, bytes);
  } else if (endpoints_[queue].enabled()) {
    placed = endpoints_[queue].WritePlain(frames, max_frame, bytes, statistics_);
  } else if (rx_[queue].enabled()) {
    placed = rx_[queue].WritePlain(dma_, frames, max_frame, bytes);
    unpublished_ |= 1u << queue;
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
  for (; unpublished_ != 0; unpublished_ &= unpublished_ - 1) {
    rx_[__builtin_ctz(unpublished_)].WriteBack();
  }
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
    if (endpoint.enabled()) endpoint.Serve(now_ns_, statistics_);
  }
}

uint32_t IpuNic::Transmit(FrameSink& sink, uint32_t budget) {
  ServeHosts();
  uint32_t handled = 0;
  for (uint32_t i = 0; i < queue_pairs_ && handled < budget; ++i) {
    TxQueue& queue = tx_[next_tx_];
    LinkQueue& link = links_[next_tx_];
    FrameEndpoint& endpoint = endpoints_[next_tx_];
    next_tx_ = next_tx_ + 1 == queue_pairs_ ? 0 : next_tx_ + 1;
    if (queue.pending()) {
      handled += queue.Run(dma_, staging_, sink, statistics_, budget - handled);
    } else if (link.enabled() && link.pending()) {
      handled += link.Run(staging_, sink, statistics_, budget - handled);
    } else if (endpoint.enabled() && endpoint.pending()) {
      handled += endpoint.Run(staging_, sink, statistics_, budget - handled);
    }
  }
  staging_.Flush(sink);
  // A host whose frames have just left, or were the last that stood in its way, has its
  // answer now and not a step later.
  ServeHosts();
  return handled;
}

std::span<const Counter> IpuNic::Counters() {
  for (uint32_t i = 0; i < kStatisticCount; ++i) counters_[i].value = statistics_[i];
  return counters_;
}

}  // namespace sluice::device::ipu
