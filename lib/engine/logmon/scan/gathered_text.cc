// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/gathered_text.h"

#include <algorithm>
#include <cstring>

namespace sluice::engine::logmon {
namespace {

/// Stores of whole vectors are worth the gap that they take before so much text.
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
  // Whole: its size is known to the compiler. What is too much of it, the part overwrites.
  std::memset(text_ + end_, '\n', kGapBytes);
  begin_ = at - ahead;
  return text_ + at;
}

}  // namespace sluice::engine::logmon
