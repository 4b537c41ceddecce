// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

namespace sluice::dpdk {

/// What ol_flags of all mbufs of the pool say, and who fills mbufs must keep: where their buffers
/// are elsewhere (RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF), a clone looks there for them.
inline uint64_t FlagsOfPool(rte_mempool* pool) {
  return (rte_pktmbuf_priv_flags(pool) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0
             ? RTE_MBUF_F_EXTERNAL
             : 0;
}

}  // namespace sluice::dpdk
