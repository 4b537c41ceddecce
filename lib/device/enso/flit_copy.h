// SPDX-License-Identifier: BSD-3-Clause
//
// Moves payload in 64-byte flits, the width of the NIC's datapath. Neither side
// need be aligned; bytes of a last flit beyond the frame are written as zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/block.h"
#include "regs/enso.h"

namespace sluice::device::enso {

/// Half a flit at any address.
using HalfFlit = Block;

/// Asks for a line that will be written. A hint: `line` may lie anywhere.
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

/// One flit of which `bytes` (1 … 64) are the frame's. Reads no others.
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

/// Bytes between a line that is copied and the one that is asked for: memory is used in the
/// order of its addresses, and a line of another core's cache takes hundreds of cycles.
inline constexpr uint32_t kAheadBytes = 16 * regs::enso::kFlitBytes;

/// Which end of a copy is the host's memory. Its lines ahead are taken with the right to write:
/// pipes are the NIC's to write, and who sends from a pipe gives it back.
enum class HostSide : uint8_t { kTo, kFrom };

/// `ahead`: bytes from the host's line to the one that is asked for.
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

/// A frame of at least half a flit into as many whole flits of a pipe as it needs.
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
  const uint32_t before = (bytes - 1) / kFlit;  // The last flit may be the frame's in part.
  CopyFlits<HostSide::kTo>(to, from, before, kAheadBytes);
  uint8_t* const last = to + uint64_t{before} * kFlit;
  PrefetchForWrite(reinterpret_cast<uintptr_t>(last) + kAheadBytes);
  *reinterpret_cast<HalfFlit*>(last) = kZero;
  *reinterpret_cast<HalfFlit*>(last + kHalf) = kZero;
  CopyFlit(to + bytes - kFlit, from + bytes - kFlit);  // In part once more.
}

}  // namespace sluice::device::enso
