// SPDX-License-Identifier: BSD-3-Clause
//
// Images, the network in plain, and what it must say of images whose scores can be worked out.
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
  // A hundred each; five standard deviations are 48.
  for (const uint32_t count : drawn) EXPECT_NEAR(count, 100, 48);
}

TEST(DigitNetwork, SeesNoEdgesWhereThereIsNothing) {
  // Without edges only the borders of the bright image are some.
  EXPECT_EQ(ScoreDigit(Image{}), kDigitBias);
  Image dark{};
  dark.fill(kPixelStep - 1);
  EXPECT_EQ(ScoreDigit(dark), kDigitBias);
}

TEST(DigitNetwork, AddsWhatAPixelIsWorth) {
  // One pixel of 40 at row 9, column 17: in the place (2, 4) of 7 x 7, and its neighbours in the
  // same place. 40 / kPixelStep is 10, and the largest of a filter's weights that meet it is 2.
  Image image{};
  image[9 * kImageSide + 17] = 40;
  const Scores scores = ScoreDigit(image);
  for (uint32_t digit = 0; digit < kDigits; ++digit) {
    int32_t sum = kDigitBias[digit];
    for (uint32_t filter = 0; filter < kFilters; ++filter) {
      // Places whose 4 x 4 places meet row 8 to 10 and column 16 to 18: (2, 4) alone.
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
