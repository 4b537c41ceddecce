// SPDX-License-Identifier: BSD-3-Clause
#include "digit_network.h"

#include <algorithm>

namespace sluice::chain_app {
namespace {

/// After division by kPixelStep, a pixel is at most 63. A filter's output is at most 4 times a
/// pixel, and a weight is below 128.
constexpr uint32_t kLargestAnswer = 4 * (255 / kPixelStep);
static_assert(kFeatures * kLargestAnswer * 127 + (1u << 22) < 1u << 24);

int32_t FilterAt(std::span<const uint8_t, kImageBytes> image, uint32_t filter, uint32_t y,
                 uint32_t x) {
  int32_t sum = 0;
  for (uint32_t i = 0; i < kFilterSide * kFilterSide; ++i) {
    // The row above the first one wraps to a very large number.
    const uint32_t row = y + i / kFilterSide - 1, column = x + i % kFilterSide - 1;
    if (row >= kImageSide || column >= kImageSide) continue;
    sum += kEdgeFilters[filter][i] *
           static_cast<int32_t>(image[row * kImageSide + column] / kPixelStep);
  }
  return std::max(sum, 0);
}

}  // namespace

Scores ScoreDigit(std::span<const uint8_t, kImageBytes> image) {
  Scores scores = kDigitBias;
  for (uint32_t feature = 0; feature < kFeatures; ++feature) {
    const uint32_t filter = feature / (kPooledSide * kPooledSide);
    const uint32_t top = feature / kPooledSide % kPooledSide * kPool;
    const uint32_t left = feature % kPooledSide * kPool;
    int32_t largest = 0;
    for (uint32_t i = 0; i < kPool * kPool; ++i)
      largest = std::max(largest, FilterAt(image, filter, top + i / kPool, left + i % kPool));
    for (uint32_t digit = 0; digit < kDigits; ++digit)
      scores[digit] += kDigitWeights[digit][feature] * largest;
  }
  return scores;
}

Reading Read(const Scores& scores) {
  const auto best = std::ranges::max_element(scores);
  int64_t next = INT32_MIN;
  for (auto score = scores.begin(); score != scores.end(); ++score)
    if (score != best) next = std::max<int64_t>(next, *score);
  const int64_t ahead = (*best - next) * 100 / kDigitScale;
  return {static_cast<uint8_t>(best - scores.begin()),
          static_cast<int32_t>(std::min<int64_t>(ahead, 10000))};
}

}  // namespace sluice::chain_app
