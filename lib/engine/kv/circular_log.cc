// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/circular_log.h"

#include <algorithm>
#include <bit>
#include <new>

namespace sluice::engine::kv {
namespace {

uint64_t InPowersOfTwo(uint64_t bytes) {
  // Offsets have 48 bits.
  if (bytes > uint64_t{1} << 47) throw std::bad_alloc();
  return std::bit_ceil(std::max(bytes, CircularLog::kMinBytes));
}

}  // namespace

CircularLog::CircularLog(uint64_t bytes)
    : mask_(InPowersOfTwo(bytes) - 1),
      max_item_bytes_(std::min((mask_ + 1) / 4, Item::SizeOf(kMaxKeyBytes, Item::kMaxValueBytes))),
      mapping_(mask_ + 1 + kReadBeyondBytes) {}

}  // namespace sluice::engine::kv
