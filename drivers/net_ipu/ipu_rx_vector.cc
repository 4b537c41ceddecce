// SPDX-License-Identifier: BSD-3-Clause
//
// The vector receive path: four completions at a time, each turned into an mbuf by
// one shuffle and two 16-byte stores. SSE intrinsics; with -march=x86-64-v3 the
// compiler encodes them as AVX. Chosen at start if EAL allows 128-bit vectors and
// frames are not scattered.
#include <immintrin.h>

#include <algorithm>
#include <bit>

#include "net_ipu/ipu_rx.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

constexpr uint32_t kGroup = 4;

// The 16-byte stores below cover exactly these fields.
static_assert(offsetof(rte_mbuf, ol_flags) == offsetof(rte_mbuf, rearm_data) + 8);
static_assert(offsetof(rte_mbuf, rearm_data) % 16 == 0);
static_assert(offsetof(rte_mbuf, rx_descriptor_fields1) % 16 == 0);
static_assert(offsetof(rte_mbuf, pkt_len) == offsetof(rte_mbuf, rx_descriptor_fields1) + 4);
static_assert(offsetof(rte_mbuf, data_len) == offsetof(rte_mbuf, rx_descriptor_fields1) + 8);
static_assert(offsetof(rte_mbuf, hash) == offsetof(rte_mbuf, rx_descriptor_fields1) + 12);

/// Descriptor bytes → packet_type, pkt_len, data_len, vlan_tci (0), hash.
__m128i FieldsShuffle() {
  return _mm_setr_epi8(10, 11, -1, -1, 8, 9, -1, -1, 8, 9, -1, -1, 0, 1, 2, 3);
}
/// Descriptor bytes → the low 16 bits of ol_flags.
__m128i FlagsShuffle() {
  return _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, 12, 13, -1, -1, -1, -1, -1, -1);
}

void StoreMbuf(rte_mbuf* mbuf, __m128i descriptor, __m128i rearm) {
  _mm_store_si128(reinterpret_cast<__m128i*>(RearmField(mbuf)),
                  _mm_or_si128(_mm_shuffle_epi8(descriptor, FlagsShuffle()), rearm));
  _mm_store_si128(reinterpret_cast<__m128i*>(&mbuf->rx_descriptor_fields1),
                  _mm_shuffle_epi8(descriptor, FieldsShuffle()));
}

/// Loads of a group go from the last descriptor to the first: the device completes
/// in order, so what is seen done is preceded only by what is also done. Aligned
/// 16-byte loads and the device's low-then-high stores do not tear on x86 with AVX.
struct Group {
  explicit Group(const Descriptor* ring) {
    const auto* const at = reinterpret_cast<const __m128i*>(ring);
    d[3] = _mm_load_si128(at + 3);
    std::atomic_signal_fence(std::memory_order_acq_rel);
    d[2] = _mm_load_si128(at + 2);
    std::atomic_signal_fence(std::memory_order_acq_rel);
    d[1] = _mm_load_si128(at + 1);
    std::atomic_signal_fence(std::memory_order_acq_rel);
    d[0] = _mm_load_si128(at + 0);
    std::atomic_signal_fence(std::memory_order_acq_rel);
  }
  __m128i d[kGroup];
};

/// From what was loaded once: the ring may say something else by now.
void StoreMarks(const Group& group, rte_mbuf* const* mbufs) {
  for (uint32_t i = 0; i < kGroup; ++i) {
    const auto low = static_cast<uint64_t>(_mm_cvtsi128_si64(group.d[i]));
    const auto high = static_cast<uint64_t>(_mm_extract_epi64(group.d[i], 1));
    if (high >> kRxFlagsShift & RTE_MBUF_F_RX_FDIR) {
      mbufs[i]->hash.fdir.hi = static_cast<uint32_t>(low >> kRxMarkShift);
    }
  }
}

enum class RunEnd {
  kLimit,    ///< All descriptors of the run were done.
  kDrained,  ///< Some were not.
  kBad,      ///< The next group holds a completion that the scalar path must judge.
};

struct Run {
  uint32_t received;
  uint32_t bytes;
  RunEnd end;
};

/// Receives up to `count` (a multiple of kGroup) frames from descriptors that are
/// contiguous in the ring.
Run ReceiveRun(const RxQueue& queue, uint32_t at, uint32_t count, rte_mbuf** packets) {
  const Descriptor* const ring = queue.ring + at;
  rte_mbuf* const* const mbufs = queue.mbufs + at;
  const __m128i rearm = _mm_cvtsi64_si128(static_cast<int64_t>(queue.rearm));
  const __m128i low16 = _mm_set1_epi32(0xffff);
  const __m128i room = _mm_set1_epi32(static_cast<int>(queue.room - 1));
  const __m128i flow_hit = _mm_set1_epi32(kRxFlowHit);
  __m128i bytes = _mm_setzero_si128();
  Run run{0, 0, RunEnd::kLimit};
  // Refill writes what is read here. Only behind a completion: to take lines that the
  // device is about to write would delay both.
  if (Done(bar::LoadOnce(ring->high))) {
    for (uint32_t i = kGroup; i < count; i += kGroup) __builtin_prefetch(ring + i, 1);
  }
  while (run.received < count) {
    const Group group(ring + run.received);
    const __m128i high01 = _mm_unpackhi_epi32(group.d[0], group.d[1]);
    const __m128i high23 = _mm_unpackhi_epi32(group.d[2], group.d[3]);
    const __m128i lengths = _mm_and_si128(_mm_unpacklo_epi64(high01, high23), low16);
    const __m128i status = _mm_unpackhi_epi64(high01, high23);
    // Bits 31 and 30 of status: done, end of packet. Length − 1 wraps for 0.
    const __m128i last = _mm_sub_epi32(lengths, _mm_set1_epi32(1));
    const __m128i fits = _mm_cmpeq_epi32(_mm_min_epu32(last, room), last);
    const __m128i good = _mm_and_si128(fits, _mm_slli_epi32(status, 1));
    const auto done = static_cast<uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(status)));
    const auto valid = static_cast<uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(good)));
    if (done & ~valid) [[unlikely]] {
      run.end = RunEnd::kBad;
      break;
    }
    rte_mbuf* const* const own = mbufs + run.received;
    std::memcpy(packets + run.received, own, kGroup * sizeof(*own));
    for (uint32_t i = 0; i < kGroup; ++i) StoreMbuf(own[i], group.d[i], rearm);
    if (!_mm_testz_si128(status, flow_hit)) [[unlikely]]
      StoreMarks(group, own);
    // Only lanes that are done count.
    bytes = _mm_add_epi32(bytes, _mm_and_si128(lengths, _mm_srai_epi32(status, 31)));
    if (done != (1u << kGroup) - 1) {
      run.received += static_cast<uint32_t>(std::countr_one(done));
      run.end = RunEnd::kDrained;
      break;
    }
    run.received += kGroup;
  }
  bytes = _mm_hadd_epi32(bytes, bytes);
  run.bytes = static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_hadd_epi32(bytes, bytes)));
  return run;
}

}  // namespace

uint16_t RxBurstVector(void* opaque, rte_mbuf** packets, uint16_t count) {
  RxQueue& queue = *static_cast<RxQueue*>(opaque);
  const uint32_t limit = std::min<uint32_t>(count, queue.tail - queue.head);
  if (limit < kGroup) [[unlikely]]
    return RxBurstScalar(opaque, packets, count);
  uint32_t received = 0;
  RunEnd end = RunEnd::kLimit;
  while (end == RunEnd::kLimit) {
    const uint32_t at = queue.head & queue.mask;
    const uint32_t wanted = std::min(limit - received, queue.mask + 1 - at) & ~(kGroup - 1);
    if (wanted == 0) break;
    const Run run = ReceiveRun(queue, at, wanted, packets + received);
    received += run.received;
    queue.head += run.received;
    queue.bytes += run.bytes;
    end = run.end;
  }
  queue.packets += received;
  if (end != RunEnd::kDrained && received < count) {  // less than a group is left, or a bad one
    const auto rest = static_cast<uint16_t>(count - received);
    return static_cast<uint16_t>(received + RxBurstScalar(opaque, packets + received, rest));
  }
  if (RxRefillDue(queue)) RxRefill(queue);
  return static_cast<uint16_t>(received);
}

}  // namespace sluice::net_ipu
