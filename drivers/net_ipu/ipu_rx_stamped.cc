// SPDX-License-Identifier: BSD-3-Clause
//
// Receive burst functions of queues with timestamps: they call the plain burst functions, then copy
// the time before each frame to DPDK's dynamic field.
#include <rte_mbuf_dyn.h>

#include <cstring>

#include "net_ipu/ipu_queue.h"

namespace sluice::net_ipu {

namespace {

template <uint16_t (*kBurst)(void*, rte_mbuf**, uint16_t)>
uint16_t Stamped(void* opaque, rte_mbuf** packets, uint16_t count) {
  const RxQueue& queue = *static_cast<RxQueue*>(opaque);
  const uint16_t received = kBurst(opaque, packets, count);
  for (uint16_t i = 0; i < received; ++i) {
    const uint8_t* const frame = rte_pktmbuf_mtod(packets[i], const uint8_t*);
    auto* const field = RTE_MBUF_DYNFIELD(packets[i], queue.stamp_offset, rte_mbuf_timestamp_t*);
    std::memcpy(field, frame - regs::ipu::kStampBytes, regs::ipu::kStampBytes);
    packets[i]->ol_flags |= queue.stamp_flag;
  }
  return received;
}
static_assert(sizeof(rte_mbuf_timestamp_t) == regs::ipu::kStampBytes);

}  // namespace

uint16_t RxBurstScalarStamped(void* queue, rte_mbuf** packets, uint16_t count) {
  return Stamped<RxBurstScalar>(queue, packets, count);
}
uint16_t RxBurstVectorStamped(void* queue, rte_mbuf** packets, uint16_t count) {
  return Stamped<RxBurstVector>(queue, packets, count);
}
uint16_t RxBurstScatteredStamped(void* queue, rte_mbuf** packets, uint16_t count) {
  return Stamped<RxBurstScattered>(queue, packets, count);
}

}  // namespace sluice::net_ipu
