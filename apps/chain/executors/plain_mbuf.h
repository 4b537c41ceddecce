// SPDX-License-Identifier: BSD-3-Clause
//
// Wraps bytes in arbitrary memory as an mbuf for software drivers. The drivers read only addresses
// and lengths, so the mbuf has no pool.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <span>

namespace sluice::chain_app {

/// The length fields of an mbuf have 16 bits.
inline constexpr size_t kLongestMbuf = 65535;

/// `bytes` must be at most kLongestMbuf bytes, and must remain valid while the mbuf is in use.
/// Drivers write only to destination mbufs.
inline void PointAt(rte_mbuf& mbuf, std::span<const uint8_t> bytes) {
  const auto length = static_cast<uint16_t>(bytes.size());
  mbuf = {};
  mbuf.buf_addr = const_cast<uint8_t*>(bytes.data());
  mbuf.buf_iova = reinterpret_cast<rte_iova_t>(bytes.data());
  mbuf.buf_len = length;
  mbuf.data_len = length;
  mbuf.pkt_len = length;
  mbuf.nb_segs = 1;
  mbuf.refcnt = 1;
}

}  // namespace sluice::chain_app
