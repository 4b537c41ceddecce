// SPDX-License-Identifier: BSD-3-Clause
#include "nic/reassembler.h"

#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "dpdk/release.h"
#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"

namespace sluice::nic {
namespace {

constexpr uint32_t kBucketEntries = 4;
constexpr uint32_t kFragmentHeaderBytes = 8;
constexpr uint32_t kMaxWholeBytes = Reassembler::kMaxFragments * Reassembler::kMaxFrameBytes;
// So lengths in IP headers have room for every datagram that can be put together.
static_assert(kMaxWholeBytes < 65535);

/// Offset of a fragment's part of the datagram.
uint32_t PartOf(const packet::Headers& headers) {
  return headers.l4 != 0 ? headers.l4 : headers.payload;
}

bool IsMalformed(const packet::Headers& headers) {
  const uint32_t bytes = headers.end - PartOf(headers);
  // Of IPv4, the header counts, too.
  const uint32_t before = headers.IsIpv6() ? 0 : PartOf(headers) - headers.l3;
  return bytes == 0 || (headers.more_fragments && bytes % 8 != 0) ||
         before + headers.fragment_offset + bytes > 65535;
}

}  // namespace

void Reassembler::FreePool::operator()(rte_mempool* pool) const { rte_mempool_free(pool); }

std::optional<Reassembler> Reassembler::Make(const std::string& name, uint32_t datagrams,
                                             uint64_t timeout_cycles) {
  const int socket = static_cast<int>(rte_socket_id());
  Reassembler made;
  made.pool_.reset(rte_pktmbuf_pool_create(name.c_str(), datagrams * kMaxFragments + 1, 0, 0,
                                           RTE_PKTMBUF_HEADROOM + kMaxFrameBytes, socket));
  if (made.pool_ == nullptr) return std::nullopt;
  made.dead_ = std::make_unique<rte_ip_frag_death_row>();
  // The library says on every occasion how many bytes it took.
  const uint32_t log_type = dpdk::IpFragLogType();
  const int level = rte_log_get_level(log_type);
  rte_log_set_level(log_type, RTE_LOG_WARNING);
  made.table_.reset(rte_ip_frag_table_create(std::max(datagrams / kBucketEntries, 1u),
                                             kBucketEntries, datagrams, timeout_cycles, socket));
  rte_log_set_level(log_type, static_cast<uint32_t>(level));
  if (made.table_ == nullptr) return std::nullopt;
  made.whole_.reset(new uint8_t[kRoomBytes + kMaxWholeBytes + kRoomBytes]);
  return made;
}

bool Reassembler::Takes(const packet::Headers& headers) {
  if (!headers.IsFragment()) return false;
  return !headers.IsIpv6() ||
         PartOf(headers) == headers.l3 + packet::kIpv6HeaderBytes + kFragmentHeaderBytes;
}

Reassembler::Taken Reassembler::Take(const uint8_t* frame, const packet::Headers& headers,
                                     uint64_t now) {
  const auto dropped = [](Reason reason) {
    return Taken{.outcome = Taken::Outcome::kDropped, .reason = reason};
  };
  if (IsMalformed(headers)) return dropped(kMalformed);
  Expire(now);
  if (headers.end > kMaxFrameBytes) return dropped(kNoRoom);
  rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool_.get());
  if (mbuf == nullptr) return dropped(kNoRoom);
  auto* const copy =
      reinterpret_cast<uint8_t*>(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(headers.end)));
  std::memcpy(copy, frame, headers.end);
  mbuf->l2_len = headers.l3;
  mbuf->l3_len = PartOf(headers) - headers.l3;
  uint8_t* const ip = copy + headers.l3;
  rte_mbuf* const chain =
      headers.IsIpv6()
          ? rte_ipv6_frag_reassemble_packet(
                table_.get(), dead_.get(), mbuf, now, reinterpret_cast<rte_ipv6_hdr*>(ip),
                reinterpret_cast<rte_ipv6_fragment_ext*>(ip + packet::kIpv6HeaderBytes))
          : rte_ipv4_frag_reassemble_packet(table_.get(), dead_.get(), mbuf, now,
                                            reinterpret_cast<rte_ipv4_hdr*>(ip));
  const uint32_t died = Bury();
  ++waiting_;
  if (chain != nullptr) return Flatten(chain);
  if (died == 0) return {.outcome = Taken::Outcome::kWaits};
  // Alone, it did not get into the table; else its datagram has ended.
  --waiting_;
  End(kOverlap, died - 1);
  return dropped(died == 1 ? kNoRoom : kOverlap);
}

Reassembler::Taken Reassembler::Flatten(rte_mbuf* chain) {
  waiting_ -= chain->nb_segs;
  Taken whole{.outcome = Taken::Outcome::kWhole, .frame = whole_.get() + kRoomBytes};
  for (const rte_mbuf* part = chain; part != nullptr; part = part->next) {
    std::memcpy(whole.frame + whole.length, rte_pktmbuf_mtod(part, const uint8_t*), part->data_len);
    whole.length += part->data_len;
  }
  // The library leaves the checksum of IPv4's header to be made.
  uint8_t* const ip = whole.frame + chain->l2_len;
  if (ip[0] >> 4 == 4) {
    packet::Store<uint16_t>(ip + 10, 0);
    packet::Store(ip + 10, packet::FinishChecksum(packet::SumBytes(ip, (ip[0] & 0xf) * 4u)));
  }
  rte_pktmbuf_free(chain);
  return whole;
}

uint32_t Reassembler::Bury() {
  uint32_t fragments = 0;
  for (uint32_t i = 0; i < dead_->cnt; ++i) fragments += dead_->row[i]->nb_segs;
  rte_ip_frag_free_death_row(dead_.get(), 0);
  return fragments;
}

void Reassembler::End(Reason reason, uint32_t fragments) {
  waiting_ -= fragments;
  ended_[reason] += fragments;
}

void Reassembler::Expire(uint64_t now) {
  // As many at a time as the death row has room for.
  while (waiting_ > 0) {
    rte_ip_frag_table_del_expired_entries(table_.get(), dead_.get(), now);
    const uint32_t died = Bury();
    if (died == 0) return;
    End(kTimedOut, died);
  }
}

void Reassembler::Finish() {
  const uint32_t waiting = waiting_;
  End(kUnfinished, waiting);
  table_.reset();  // Frees its mbufs.
}

}  // namespace sluice::nic
