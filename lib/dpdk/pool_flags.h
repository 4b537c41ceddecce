// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

namespace sluice::dpdk {

/// Returns the ol_flags bits of all mbufs of the pool. Code that fills mbufs must preserve them: if
/// buffers are external (RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF), a clone needs the flag to find its
/// buffer.
inline uint64_t FlagsOfPool(rte_mempool* pool) {
  return (rte_pktmbuf_priv_flags(pool) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0
             ? RTE_MBUF_F_EXTERNAL
             : 0;
}

}  // namespace sluice::dpdk
