// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/gathered_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace sluice::engine::logmon {
namespace {

void Add(GatheredText& text, std::string_view ahead, std::string_view bytes, bool truncated = false,
         uint32_t number = 0) {
  char* const to =
      text.Place(static_cast<uint32_t>(ahead.size()), static_cast<uint32_t>(bytes.size()));
  // Writes garbage after the line, as a caller that copies whole blocks does.
  ahead.copy(to - ahead.size(), ahead.size());
  std::memset(to, '#', GatheredText::kSpareBytes);
  bytes.copy(to, bytes.size());
  text.Add(to + bytes.size(), truncated, {.number = number, .speaker = {.id = number + 1u}});
}

std::string TextOf(const GatheredText& text, const TextPart& part) {
  return std::string(text.text().substr(part.begin, part.end - part.begin));
}

/// Checks that all bytes outside the parts are LF, and that each part is preceded by at least one
/// LF.
void ExpectSound(const GatheredText& text) {
  uint32_t behind = 0;
  for (const TextPart& part : text.parts()) {
    ASSERT_LT(behind, part.begin);
    ASSERT_LE(part.end, text.text().size());
    const std::string_view gap = text.text().substr(behind, part.begin - behind);
    ASSERT_EQ(gap.find_first_not_of('\n'), gap.npos);
    behind = part.end;
  }
  ASSERT_EQ(behind, text.text().size());
}

TEST(GatheredText, HoldsWhatWasWrittenToEachPlace) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    GatheredText text(256);
    std::vector<std::string> expected;
    for (;;) {
      const std::string ahead(random() % (round % 2 ? 2 : 300), 'a');
      const std::string bytes(1 + random() % (round % 3 ? 100 : 2000), 'b');
      if (!text.HasRoom(ahead.size() + bytes.size())) break;
      const auto number = static_cast<uint32_t>(expected.size());
      Add(text, ahead, bytes, number % 3 == 0, number);
      expected.push_back(ahead + bytes);
      ASSERT_EQ(text.parts().size(), expected.size());
      ASSERT_EQ(text.parts().back().truncated, number % 3 == 0);
    }
    ExpectSound(text);
    for (uint32_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(TextOf(text, text.parts()[i]), expected[i]);
      ASSERT_EQ(text.parts()[i].origin.number, i);
      ASSERT_EQ(text.parts()[i].origin.speaker.id, i + 1u);
    }
    ASSERT_LE(text.text().size(), GatheredText::kBytes);
    // The text must use most of the available space.
    ASSERT_TRUE(text.parts().size() > 400 || text.text().size() > GatheredText::kBytes * 3 / 4);
  }
}

TEST(GatheredText, HasRoomForThreeOfItsLongestPartsOneAtATime) {
  for (const uint32_t longest : {257u, GatheredText::kBytes, 262145u}) {
    GatheredText text(longest);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(text.empty());
      ASSERT_TRUE(text.HasRoom(longest));
      Add(text, "a", std::string(longest - 1, 'b'));
      EXPECT_FALSE(text.empty());
      ExpectSound(text);
      EXPECT_EQ(text.parts()[0].end - text.parts()[0].begin, longest);
      EXPECT_EQ(text.HasRoom(longest), longest == 257);
      text.Clear();
    }
  }
}

TEST(GatheredText, TakesABoundedNumberOfParts) {
  GatheredText text(256);
  uint32_t parts = 0;
  for (; text.HasRoom(1); ++parts) Add(text, "", "\n");
  EXPECT_LT(parts, 2000u);
  ExpectSound(text);
  EXPECT_EQ(text.parts().size(), parts);
}

TEST(GatheredText, PutsLongTextsWhereStoresOfVectorsAreAligned) {
  GatheredText text(256);
  Add(text, "", "a");
  for (const uint32_t ahead : {0u, 1u, 63u, 64u, 117u}) {
    const std::string before(ahead, 'a'), bytes(600, 'b');
    Add(text, before, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(text.text().data() + text.text().size() - 600) % 32, 0u);
  }
  ExpectSound(text);
}

}  // namespace
}  // namespace sluice::engine::logmon
