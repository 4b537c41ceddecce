// SPDX-License-Identifier: BSD-3-Clause
//
// Copies payload in 64-byte flits, the width of the NIC's datapath. Both addresses may be
// unaligned. The bytes of the last flit beyond the frame's end are written as zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/block.h"
#include "regs/enso.h"

namespace sluice::device::enso {

/// Half a flit, at any address.
using HalfFlit = Block;

/// Prefetches the cache line at any address `line`, which will be written.
inline void PrefetchForWrite(uintptr_t line) {
  __builtin_prefetch(reinterpret_cast<const void*>(line), 1);
}

inline void CopyHalf(uint8_t* to, const uint8_t* from) {
  *reinterpret_cast<HalfFlit*>(to) = *reinterpret_cast<const HalfFlit*>(from);
}

inline void CopyFlit(uint8_t* to, const uint8_t* from) {
  const HalfFlit low = *reinterpret_cast<const HalfFlit*>(from);
  const HalfFlit high = *reinterpret_cast<const HalfFlit*>(from + 32);
  *reinterpret_cast<HalfFlit*>(to) = low;
  *reinterpret_cast<HalfFlit*>(to + 32) = high;
}

/// Copies the last flit of a frame: reads only its first `bytes` (1 … 64) bytes from the frame, and
/// writes the rest as zero.
inline void CopyLastFlit(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  constexpr HalfFlit kZero = {};
  if (bytes == 64) return CopyFlit(to, from);
  *reinterpret_cast<HalfFlit*>(to + 32) = kZero;
  if (bytes >= 32) [[likely]] {
    CopyHalf(to, from);
    CopyHalf(to + bytes - 32, from + bytes - 32);
  } else {
    *reinterpret_cast<HalfFlit*>(to) = kZero;
    std::memcpy(to, from, bytes);
  }
}

/// Distance in bytes from the line that is being copied to the line that is prefetched. Memory is
/// used in address order, and fetching a line from another core's cache costs hundreds of cycles.
inline constexpr uint32_t kAheadBytes = 16 * regs::enso::kFlitBytes;

/// The side of a copy that is host memory. Its lines are always prefetched for writing: the NIC
/// writes to pipes, and when software sends from a pipe, it later returns the flits to the NIC,
/// which overwrites them.
enum class HostSide : uint8_t { kTo, kFrom };

/// Copies a flit and prefetches the line that is `ahead` bytes beyond the line in host memory.
template <HostSide kHost>
inline void CopyFlitTakingAhead(uint8_t* to, const uint8_t* from, uintptr_t ahead) {
  PrefetchForWrite(reinterpret_cast<uintptr_t>(kHost == HostSide::kTo ? to : from) + ahead);
  CopyFlit(to, from);
}

template <HostSide kHost>
inline void CopyFlits(uint8_t* to, const uint8_t* from, uint32_t flits, uintptr_t ahead) {
  constexpr size_t kFlit = regs::enso::kFlitBytes;
  const size_t bytes = flits * kFlit;
  const size_t pairs = bytes & ~(2 * kFlit - 1);
  size_t at = 0;
  for (; at != pairs; at += 2 * kFlit) {
    CopyFlitTakingAhead<kHost>(to + at, from + at, ahead);
    CopyFlitTakingAhead<kHost>(to + at + kFlit, from + at + kFlit, ahead);
  }
  if (at != bytes) CopyFlitTakingAhead<kHost>(to + at, from + at, ahead);
}

/// Copies a frame of at least half a flit to a pipe, and pads its last flit with zeros.
inline void CopyFrame(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  constexpr HalfFlit kZero = {};
  constexpr uint32_t kFlit = regs::enso::kFlitBytes, kHalf = sizeof(HalfFlit);
  if (bytes <= kFlit) [[likely]] {
    PrefetchForWrite(reinterpret_cast<uintptr_t>(to) + kAheadBytes);
    *reinterpret_cast<HalfFlit*>(to + kHalf) = kZero;
    CopyHalf(to, from);
    CopyHalf(to + bytes - kHalf, from + bytes - kHalf);
    return;
  }
  const uint32_t before = (bytes - 1) / kFlit;  // Full flits; the last one may be partial.
  CopyFlits<HostSide::kTo>(to, from, before, kAheadBytes);
  uint8_t* const last = to + uint64_t{before} * kFlit;
  PrefetchForWrite(reinterpret_cast<uintptr_t>(last) + kAheadBytes);
  *reinterpret_cast<HalfFlit*>(last) = kZero;
  *reinterpret_cast<HalfFlit*>(last + kHalf) = kZero;
  // Copies the frame's last 64 bytes. If the last flit is partial, they overlap the previous flit.
  CopyFlit(to + bytes - kFlit, from + bytes - kFlit);
}

}  // namespace sluice::device::enso
