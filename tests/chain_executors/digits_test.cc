// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the images, compares the network with a plain implementation, and checks the scores of
// images that can be computed by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "classify.h"
#include "digit_image.h"
#include "digit_network.h"

namespace sluice::chain_app {
namespace {

using Image = std::array<uint8_t, kImageBytes>;

TEST(DigitImages, AreTheSameForTheSameNumbersAndDifferOtherwise) {
  Image first{}, again{}, other{}, seeded{};
  const uint8_t digit = DrawDigit(3, 14, first);
  EXPECT_EQ(DrawDigit(3, 14, again), digit);
  EXPECT_EQ(first, again);
  DrawDigit(3, 15, other);
  DrawDigit(4, 14, seeded);
  EXPECT_NE(first, other);
  EXPECT_NE(first, seeded);
}

TEST(DigitImages, HaveInkOnAGroundAndEveryDigit) {
  std::array<uint32_t, kDigits> drawn{};
  for (uint64_t number = 0; number < 1000; ++number) {
    Image image{};
    const uint8_t digit = DrawDigit(5, number, image);
    ASSERT_LT(digit, kDigits);
    ++drawn[digit];
    const auto bright = std::ranges::count_if(image, [](uint8_t pixel) { return pixel > 110; });
    ASSERT_GT(bright, 15) << number;
    ASSERT_LT(bright, 400) << number;
  }
  // The expected count per digit is 100; five standard deviations are 48.
  for (const uint32_t count : drawn) EXPECT_NEAR(count, 100, 48);
}

TEST(DigitNetwork, SeesNoEdgesWhereThereIsNothing) {
  // Both images are dark, because pixels below kPixelStep count as 0. A uniformly bright image
  // would have edges at its borders.
  EXPECT_EQ(ScoreDigit(Image{}), kDigitBias);
  Image dark{};
  dark.fill(kPixelStep - 1);
  EXPECT_EQ(ScoreDigit(dark), kDigitBias);
}

TEST(DigitNetwork, AddsWhatAPixelIsWorth) {
  // One pixel of value 40 at row 9, column 17. The pixel and its neighbors are in cell (2, 4) of
  // the 7 x 7 grid. 40 / kPixelStep is 10, and the largest weight of a filter that covers the pixel
  // is 2.
  Image image{};
  image[9 * kImageSide + 17] = 40;
  const Scores scores = ScoreDigit(image);
  for (uint32_t digit = 0; digit < kDigits; ++digit) {
    int32_t sum = kDigitBias[digit];
    for (uint32_t filter = 0; filter < kFilters; ++filter) {
      // Only cell (2, 4), of 4 x 4 pixels, overlaps rows 8 to 10 and columns 16 to 18.
      sum += kDigitWeights[digit][filter * 49 + 2 * 7 + 4] * 10 * 2;
    }
    EXPECT_EQ(scores[digit], sum) << digit;
  }
}

TEST(DigitNetwork, ReadsTheLowestOfEqualDigitsAndSaysHowFarItIsAhead) {
  Scores scores{};
  EXPECT_EQ(Read(scores).digit, 0);
  EXPECT_EQ(Read(scores).ahead_percent, 0);
  scores[3] = scores[7] = kDigitScale;
  EXPECT_EQ(Read(scores).digit, 3);
  EXPECT_EQ(Read(scores).ahead_percent, 0);
  scores[7] = 2 * kDigitScale;
  EXPECT_EQ(Read(scores).digit, 7);
  EXPECT_EQ(Read(scores).ahead_percent, 100);
  scores.fill(INT32_MIN);
  scores[9] = INT32_MAX;
  EXPECT_EQ(Read(scores).ahead_percent, 10000);
  EXPECT_TRUE(AnswerOf(scores, 100).sure);
}

TEST(DigitNetwork, ReadsDigitsThatItWasNotMadeOf) {
  uint32_t right = 0;
  for (uint64_t number = 0; number < 500; ++number) {
    Image image{};
    const uint8_t digit = DrawDigit(77, number, image);
    right += Read(ScoreDigit(image)).digit == digit ? 1 : 0;
  }
  EXPECT_GE(right, 495u);
}

TEST(Answers, AreReadAsTheyWereWritten) {
  const Answer answer{7, true, {1, -1, INT32_MAX, INT32_MIN, 0, 256, -256, 65536, 9, 10}};
  std::array<uint8_t, kAnswerBytes> bytes{};
  WriteAnswer(answer, bytes);
  EXPECT_EQ(ReadAnswer(bytes), answer);
  EXPECT_EQ(KeyOf(answer), 0x701u);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(ReadAnswer(std::span(bytes).first(length)));
  for (const auto& [at, value] :
       {std::pair(0, 10), std::pair(1, 2), std::pair(2, 1), std::pair(3, 1)}) {
    auto bent = bytes;
    bent[static_cast<size_t>(at)] = static_cast<uint8_t>(value);
    EXPECT_FALSE(ReadAnswer(bent)) << at;
  }
}

}  // namespace
}  // namespace sluice::chain_app
