// SPDX-License-Identifier: BSD-3-Clause
//
// Moves payload in 64-byte flits, the width of the NIC's datapath. Neither side
// need be aligned; bytes of a last flit beyond the frame are written as zero.
#pragma once

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
inline constexpr uint32_t kAheadBytes = 32 * regs::enso::kFlitBytes;

/// Which end of a copy is the host's memory. Its lines ahead are taken with the right to write:
/// pipes are the NIC's to write, and who sends from a pipe gives it back.
enum class HostSide : uint8_t { kTo, kFrom };

template <HostSide kHost>
inline void CopyFlitTakingAhead(uint8_t* to, const uint8_t* from) {
  const uint8_t* const host = kHost == HostSide::kTo ? to : from;
  PrefetchForWrite(reinterpret_cast<uintptr_t>(host) + kAheadBytes);
  CopyFlit(to, from);
}

template <HostSide kHost>
inline void CopyFlits(uint8_t* to, const uint8_t* from, uint32_t flits) {
  constexpr uint32_t kFlit = regs::enso::kFlitBytes;
  for (; flits >= 2; flits -= 2, to += 2 * kFlit, from += 2 * kFlit) {
    CopyFlitTakingAhead<kHost>(to, from);
    CopyFlitTakingAhead<kHost>(to + kFlit, from + kFlit);
  }
  if (flits != 0) CopyFlitTakingAhead<kHost>(to, from);
}

/// A frame of `bytes` > 0 into as many whole flits of a pipe as it needs.
inline void CopyFrame(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  constexpr uint32_t kFlit = regs::enso::kFlitBytes;
  const uint32_t before = (bytes - 1) / kFlit;  // The last flit may be the frame's in part.
  if (before != 0) {
    CopyFlits<HostSide::kTo>(to, from, before);
    to += uint64_t{before} * kFlit;
    from += uint64_t{before} * kFlit;
    bytes -= before * kFlit;
  }
  PrefetchForWrite(reinterpret_cast<uintptr_t>(to) + kAheadBytes);
  CopyLastFlit(to, from, bytes);
}

}  // namespace sluice::device::enso
