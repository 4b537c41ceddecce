// SPDX-License-Identifier: BSD-3-Clause
#include "nic/mbuf_pipes.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace sluice::nic {

namespace {

constexpr uint32_t kBurst = 64;

// Copies one packet to `to`, which must have room for kMaxFrameBytes. Returns the frame's length in
// bytes, or 0 if the packet exceeds kMaxFrameBytes or if its header gives no length or a length
// beyond the packet.
uint32_t LayOut(const rte_mbuf* packet, uint8_t* to) {
  if (packet->pkt_len > MbufPipes::kMaxFrameBytes) return 0;
  uint32_t at = 0;
  for (const rte_mbuf* segment = packet; segment != nullptr; segment = segment->next) {
    const uint32_t bytes = std::min<uint32_t>(segment->data_len, packet->pkt_len - at);
    rte_memcpy(to + at, rte_pktmbuf_mtod(segment, const uint8_t*), bytes);
    at += bytes;
  }
  if (at < packet::kFlitBytes) std::memset(to + at, 0, packet::kFlitBytes - at);
  const uint32_t length = packet::FrameLength(to);
  return length <= at ? length : 0;
}

}  // namespace

void MbufPipes::Unmap::operator()(uint8_t* buffer) const { std::free(buffer); }

MbufPipes::MbufPipes(uint16_t port, uint16_t queue, rte_mempool* pool)
    : port_(port), queue_(queue), transmitter_(port, queue, pool) {
  buffer_.reset(static_cast<uint8_t*>(
      std::aligned_alloc(packet::kFlitBytes, size_t{kBurst} * kMaxFrameBytes)));
  if (buffer_ == nullptr) throw std::bad_alloc();
}

uint32_t MbufPipes::Receive(std::span<Span> spans, QueueCounters& counters) {
  std::array<rte_mbuf*, kBurst> packets;
  const uint32_t count = rte_eth_rx_burst(port_, queue_, packets.data(), kBurst);
  if (count == 0 || spans.empty()) return 0;
  uint32_t at = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t length = LayOut(packets[i], buffer_.get() + at);
    if (length == 0) [[unlikely]] {
      QueueCounters::Add(counters.rx_desync, packet::FlitCount(packets[i]->pkt_len));
    }
    at += packet::FlitSpan(length);
  }
  rte_pktmbuf_free_bulk(packets.data(), count);
  if (at == 0) return 0;
  spans[0] = {0, buffer_.get(), at};
  return 1;
}

bool MbufPipes::AddOrFlush(const uint8_t* frame, uint32_t length) {
  if (transmitter_.full()) unsent_ += transmitter_.Flush();
  return transmitter_.Add(frame, length);
}

FrameTotals MbufPipes::Send(uint32_t /*pipe*/, const uint8_t* data, uint32_t bytes,
                            uint32_t /*release_bytes*/) {
  if (tap_.see != nullptr) [[unlikely]] {
    tap_.see(tap_.context, TapDirection::kSent, data, bytes);
  }
  for (uint32_t at = 0; at < bytes;) {
    const uint32_t length = packet::FrameLength(data + at);
    if (!AddOrFlush(data + at, length)) unsent_ += {1, length};
    at += packet::FlitSpan(std::max(length, 1u));
  }
  return std::exchange(unsent_, {});
}

SendResult MbufPipes::SendCopy(const uint8_t* frame, uint32_t length) {
  if (tap_.see != nullptr) [[unlikely]] {
    tap_.see(tap_.context, TapDirection::kSent, frame, packet::FlitSpan(length));
  }
  return AddOrFlush(frame, length) ? SendResult::kSent : SendResult::kFull;
}

FrameTotals MbufPipes::Flush() {
  unsent_ += transmitter_.Flush();
  return std::exchange(unsent_, {});
}

bool MbufPipes::LinkUp() const {
  rte_eth_link link;
  return rte_eth_link_get_nowait(port_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

}  // namespace sluice::nic
