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
    : dma_(dma), queue_pairs_(std::clamp(config.queue_pairs, 1u, kMaxQueues)) {
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
         (port_[kPortControl / 4] & kPortChecksum) != 0;
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
  Route route{reta[hash % kRetaEntries], false, {hash, 0}};
  if (port_[kPortControl / 4] & kPortChecksum) flags |= VerifyChecksums(frame, headers);
  if (!flows_.empty()) {
    if (FlowEntry* const rule = flows_.Lookup(frame, headers)) {
      ++rule->hits;
      rule->hit_bytes += frame.length;
      route.drop = (rule->action & kFlowActionDrop) != 0;
      if (rule->action & kFlowActionQueue) route.queue = rule->action & kFlowActionQueueMask;
      if (rule->action & kFlowActionMark) {
        flags |= kRxFlowHit | kRxMarkValid;
        route.metadata.low |= uint64_t{rule->mark} << kRxMarkShift;
      }
    }
  }
  route.metadata.high = uint64_t{flags} << kRxFlagsShift |
                        uint64_t{headers.packet_class} << kRxClassShift;
  return route;
}

uint32_t IpuNic::Receive(std::span<const WireFrame> frames, bool pause) {
  const uint32_t control = port_[kPortControl / 4];
  if ((control & kPortReceive) == 0) {
    statistics_[kStatRxDisabled] += frames.size();
    return static_cast<uint32_t>(frames.size());
  }
  const bool filter = (control & kPortPromiscuous) == 0;
  const bool classify = classify_;
  const uint32_t max_frame = std::min(port_[kMaxFrame / 4], kMaxFrameBytes);
  const uint32_t default_queue = port_[kReta / 4] & 0xff;
  const auto drop = [this](Statistic reason) { ++statistics_[reason]; };
  uint32_t used = 0;  // queues with completions to publish
  uint32_t taken = 0;
  uint32_t written = 0;
  uint64_t written_bytes = 0;
  const bool all_plain = !filter && !classify && default_queue < queue_pairs_ &&
                         rx_[default_queue].enabled();
  for (; taken < frames.size(); ++taken) {
    if (all_plain) {
      used = 1u << default_queue;
      const uint32_t plain = rx_[default_queue].WritePlain(dma_, frames.subspan(taken), max_frame,
                                                           &written_bytes);
      written += plain;
      taken += plain;
      if (taken == frames.size()) break;
    }
    const WireFrame frame = frames[taken];
    if (frame.length < kMinFrameBytes) [[unlikely]] { drop(kStatRxUndersize); continue; }
    if (frame.length > max_frame) [[unlikely]] { drop(kStatRxOversize); continue; }
    if (filter && !Accepts(frame.data)) { drop(kStatRxFiltered); continue; }
    Route route{default_queue, false, {0, 0}};
    if (classify) {
      route = Classify(frame);
    } else {
      route.metadata.high = uint64_t{Parse(frame).packet_class} << kRxClassShift;
    }
    if (route.drop) { drop(kStatRxFlowDrop); continue; }
    if (route.queue >= queue_pairs_ || !rx_[route.queue].enabled()) { drop(kStatRxDisabled); continue; }
    RxQueue& queue = rx_[route.queue];
    if (pause && !queue.HasRoom(frame.length)) break;
    used |= 1u << route.queue;
    const RxOutcome outcome = queue.Write(dma_, frame, route.metadata);
    if (outcome == RxOutcome::kWritten) [[likely]] {
      ++written;
      written_bytes += frame.length;
    } else {
      drop(outcome == RxOutcome::kNoDescriptor ? kStatRxNoDescriptor
           : outcome == RxOutcome::kOversize   ? kStatRxOversize
                                               : kStatRxDmaFault);
    }
  }
  statistics_[kStatRxFrames] += written;
  statistics_[kStatRxBytes] += written_bytes;
  for (; used != 0; used &= used - 1) rx_[__builtin_ctz(used)].WriteBack();
  return taken;
}

uint32_t IpuNic::Transmit(FrameSink& sink, uint32_t budget) {
  uint32_t handled = 0;
  for (uint32_t i = 0; i < queue_pairs_ && handled < budget; ++i) {
    TxQueue& queue = tx_[next_tx_];
    next_tx_ = next_tx_ + 1 == queue_pairs_ ? 0 : next_tx_ + 1;
    if (queue.pending()) handled += queue.Run(dma_, staging_, sink, statistics_, budget - handled);
  }
  staging_.Flush(sink);
  return handled;
}

std::span<const Counter> IpuNic::Counters() {
  for (uint32_t i = 0; i < kStatisticCount; ++i) counters_[i].value = statistics_[i];
  return counters_;
}

}  // namespace sluice::device::ipu
