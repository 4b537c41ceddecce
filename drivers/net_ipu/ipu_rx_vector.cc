// SPDX-License-Identifier: BSD-3-Clause
//
// The vector receive path: four completions at a time, each converted to an mbuf by one shuffle and
// two 16-byte stores. With -march=x86-64-v3 the compiler emits AVX instructions on x86. This path
// is selected at start if EAL allows 128-bit vectors and frames are not scattered.
#include <rte_memcpy.h>

#include <algorithm>
#include <bit>

#include "bar/fence.h"
#include "cpu/vector.h"
#include "net_ipu/ipu_rx.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

constexpr uint32_t kGroup = 4;

// The 16-byte stores below write exactly these fields.
static_assert(offsetof(rte_mbuf, ol_flags) == offsetof(rte_mbuf, rearm_data) + 8);
static_assert(offsetof(rte_mbuf, rearm_data) % 16 == 0);
static_assert(offsetof(rte_mbuf, rx_descriptor_fields1) % 16 == 0);
static_assert(offsetof(rte_mbuf, pkt_len) == offsetof(rte_mbuf, rx_descriptor_fields1) + 4);
static_assert(offsetof(rte_mbuf, data_len) == offsetof(rte_mbuf, rx_descriptor_fields1) + 8);
static_assert(offsetof(rte_mbuf, hash) == offsetof(rte_mbuf, rx_descriptor_fields1) + 12);

/// Returns packet_type, pkt_len, data_len, vlan_tci (0) and hash from the bytes of a descriptor.
cpu::Words Fields(cpu::Words descriptor) {
  return cpu::PickBytes<10, 11, -1, -1, 8, 9, -1, -1, 8, 9, -1, -1, 0, 1, 2, 3>(descriptor);
}
/// Returns a descriptor's flags in the position of the low 16 bits of ol_flags.
cpu::Words Flags(cpu::Words descriptor) {
  return cpu::PickBytes<-1, -1, -1, -1, -1, -1, -1, -1, 12, 13, -1, -1, -1, -1, -1, -1>(descriptor);
}

void StoreMbuf(rte_mbuf* mbuf, cpu::Words descriptor, cpu::Words rearm) {
  cpu::StoreAligned(RearmField(mbuf), Flags(descriptor) | rearm);
  cpu::StoreAligned(&mbuf->rx_descriptor_fields1, Fields(descriptor));
}

#ifdef SLUICE_X86_VECTORS
/// Loads the descriptors of a group from the last to the first. The device completes descriptors in
/// order, so every descriptor before one that is seen as done is also done. Aligned 16-byte loads
/// and the device's stores, low word first, do not tear on x86 with AVX.
struct Group {
  explicit Group(const Descriptor* ring) {
    d[3] = cpu::LoadAligned(ring + 3);
    std::atomic_signal_fence(std::memory_order_acq_rel);
    d[2] = cpu::LoadAligned(ring + 2);
    std::atomic_signal_fence(std::memory_order_acq_rel);
    d[1] = cpu::LoadAligned(ring + 1);
    std::atomic_signal_fence(std::memory_order_acq_rel);
    d[0] = cpu::LoadAligned(ring + 0);
    std::atomic_signal_fence(std::memory_order_acq_rel);
  }
  cpu::Words d[kGroup];
};
#else
/// Loads may be reordered, and a 16-byte load may be split into words. Therefore loads the high
/// words first, then, after a fence, the low words. A done bit counts only if all earlier
/// descriptors are done.
struct Group {
  explicit Group(const Descriptor* ring) {
    uint64_t high[kGroup];
    for (uint32_t i = 0; i < kGroup - 1; ++i) high[i] = bar::LoadOnce(ring[i].high);
    high[kGroup - 1] = bar::LoadFromDevice(ring[kGroup - 1].high);
    uint64_t done = kDone;
    for (uint32_t i = 0; i < kGroup; ++i) {
      done &= high[i];
      d[i] = cpu::FromLongs(bar::LoadOnce(ring[i].low), done != 0 ? high[i] : 0);
    }
  }
  cpu::Words d[kGroup];
};
#endif

/// Uses the loaded values, because the device may have changed the ring since.
void StoreRare(const Group& group, rte_mbuf* const* mbufs) {
  for (uint32_t i = 0; i < kGroup; ++i) {
    FillRare(mbufs[i], cpu::LowHalf(group.d[i]), cpu::HighHalf(group.d[i]));
  }
}

enum class RunEnd {
  kLimit,    ///< All descriptors of the run were done.
  kDrained,  ///< Some descriptors were not done.
  kBad,      ///< The next group contains a completion for the scalar path.
};

struct Run {
  uint32_t received;
  uint32_t bytes;
  RunEnd end;
};

/// Receives up to `count` (a positive multiple of kGroup) frames from descriptors that are
/// contiguous in the ring.
Run ReceiveRun(const RxQueue& queue, uint32_t at, uint32_t count, rte_mbuf** packets) {
  const Descriptor* ring = queue.ring + at;
  const Descriptor* const limit = ring + count;
  rte_mbuf* const* mbufs = queue.mbufs + at;
  rte_mbuf** const first = packets;
  const cpu::Words rearm = cpu::FromLongs(queue.rearm, queue.flags);
  const cpu::Words low16 = cpu::AllOf(0xffff);
  const cpu::Words room = cpu::AllOf(queue.room - 1);
  const cpu::Words rare = cpu::AllOf(kRareFlags);
  cpu::Words bytes = {};
  uint32_t last_bytes = 0;
  RunEnd end = RunEnd::kLimit;
  // Prefetches these descriptors for the refill, which writes them. Does so only if one is
  // complete, because fetching cache lines that the device is about to write would delay both.
  if (Done(bar::LoadOnce(ring->high))) {
    for (const Descriptor* line = ring + kGroup; line < limit; line += kGroup) {
      __builtin_prefetch(line, 1);
    }
  }
  for (; ring != limit; ring += kGroup, mbufs += kGroup, packets += kGroup) {
    const Group group(ring);
    const cpu::Words high01 = cpu::InterleaveHigh(group.d[0], group.d[1]);
    const cpu::Words high23 = cpu::InterleaveHigh(group.d[2], group.d[3]);
    const cpu::Words lengths = cpu::LowHalves(high01, high23) & low16;
    const cpu::Words status = cpu::HighHalves(high01, high23);
    // Bits 31 and 30 of the status mean done and end of packet. If the length is 0, length − 1
    // wraps, and the comparison fails.
    const cpu::Words last = lengths - cpu::AllOf(1);
    const cpu::Words fits = cpu::EqualLanes(cpu::Least(last, room), last);
    if (!cpu::SignsWithin(status, fits & cpu::Doubled(status))) [[unlikely]] {
      end = RunEnd::kBad;
      break;
    }
    rte_mov32(reinterpret_cast<uint8_t*>(packets), reinterpret_cast<const uint8_t*>(mbufs));
    for (uint32_t i = 0; i < kGroup; ++i) StoreMbuf(mbufs[i], group.d[i], rearm);
    if (cpu::AnyInCommon(status, rare)) [[unlikely]]
      StoreRare(group, mbufs);
    if (const uint32_t done = cpu::SignBits(status); done != (1u << kGroup) - 1) {
      // Completions may become visible in a different order from that in which the device wrote
      // them. A completion after an unfinished one is counted in a later call.
      const auto leading = static_cast<uint32_t>(std::countr_one(done));
      for (uint32_t i = 0; i < leading; ++i) {
        last_bytes += static_cast<uint16_t>(cpu::HighHalf(group.d[i]));
      }
      packets += leading;
      end = RunEnd::kDrained;
      break;
    }
    bytes += lengths;
  }
  return {static_cast<uint32_t>(packets - first), last_bytes + cpu::Sum(bytes), end};
}

}  // namespace

uint16_t RxBurstVector(void* opaque, rte_mbuf** packets, uint16_t count) {
  RxQueue& queue = *static_cast<RxQueue*>(opaque);
  const uint32_t limit = std::min<uint32_t>(count, queue.tail - queue.head) & ~(kGroup - 1);
  if (limit == 0) [[unlikely]]
    return RxBurstScalar(opaque, packets, count);
  uint32_t received = 0;
  RunEnd end = RunEnd::kLimit;
  do {
    const uint32_t at = queue.head & queue.mask;
    const uint32_t wanted = std::min(limit - received, queue.mask + 1 - at) & ~(kGroup - 1);
    if (wanted == 0) break;
    const Run run = ReceiveRun(queue, at, wanted, packets + received);
    received += run.received;
    queue.head += run.received;
    queue.bytes += run.bytes;
    end = run.end;
  } while (end == RunEnd::kLimit && received < limit);
  queue.packets += received;
  if (end != RunEnd::kDrained &&
      received < count) {  // Fewer descriptors than a group, or an invalid completion.
    const auto rest = static_cast<uint16_t>(count - received);
    return static_cast<uint16_t>(received + RxBurstScalar(opaque, packets + received, rest));
  }
  if (RxRefillDue(queue)) RxRefill(queue);
  return static_cast<uint16_t>(received);
}

}  // namespace sluice::net_ipu
