// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/gathered_text.h"

#include <algorithm>
#include <cstring>

namespace sluice::engine::logmon {
namespace {

/// Minimum length of text for which aligned vector stores are worth the additional gap.
constexpr uint32_t kAlignedBytes = 512;

}  // namespace

GatheredText::GatheredText(uint32_t longest)
    : memory_(std::make_unique_for_overwrite<char[]>(kVectorBytes + std::max(longest, kBytes) +
                                                     2 * kGapBytes + kSpareBytes)),
      text_(memory_.get()) {
  text_ += -reinterpret_cast<uintptr_t>(text_) % kVectorBytes;
  parts_.reserve(kMaxParts);
}

char* GatheredText::Place(uint32_t ahead, uint32_t bytes) {
  const uint32_t first = end_ + 1 + ahead;
  const uint32_t at = bytes < kAlignedBytes ? first : (first + kVectorBytes - 1) & -kVectorBytes;
  // Fills the maximum gap, because a constant-size fill is faster. The part overwrites the excess.
  std::memset(text_ + end_, '\n', kGapBytes);
  begin_ = at - ahead;
  return text_ + at;
}

}  // namespace sluice::engine::logmon
