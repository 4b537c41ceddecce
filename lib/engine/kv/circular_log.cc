// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/circular_log.h"

#include <algorithm>
#include <bit>
#include <new>

namespace sluice::engine::kv {
namespace {

constexpr uint64_t kMargin = 4096;

uint64_t Rounded(uint64_t bytes) {
  // Offsets have 48 bits.
  if (bytes > uint64_t{1} << 47) throw std::bad_alloc();
  return std::bit_ceil(std::max(bytes, CircularLog::kMinBytes));
}

}  // namespace

CircularLog::CircularLog(uint64_t bytes)
    : mask_(Rounded(bytes) - 1),
      max_item_bytes_(std::min((mask_ + 1) / 4, Item::SizeOf(kMaxKeyBytes, Item::kMaxValueBytes))),
      // Who looks at an item that is no more may look as far as a key is long.
      mapping_(mask_ + 1 + kMargin) {}

}  // namespace sluice::engine::kv
