// SPDX-License-Identifier: BSD-3-Clause
//
// What wires of libraries read of their options: numbers within a range, in full.
#include "emulator/library_wire.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

namespace sluice::emulator {
namespace {

TEST(LibraryOptions, ANumberIsReadInFullAndWithinItsRange) {
  const struct {
    const char* text;
    bool fits;
  } kCases[] = {{"1", true},       {"65535", true}, {"0", false},   {"65536", false},
                {"", false},       {"12x", false},  {" 12", false}, {"-1", false},
                {"1.5", false},    {"+7", false},   {"0x10", false},
                {"4294967297", false}};
  for (const auto& [text, fits] : kCases) {
    uint32_t wide = 0;
    uint16_t narrow = 0;
    EXPECT_EQ(ReadNumber(text, 1, 65535, &wide), fits) << text;
    EXPECT_EQ(ReadNumber(text, 1, 65535, &narrow), fits) << text;
    if (fits) {
      EXPECT_EQ(std::to_string(wide), text);
      EXPECT_EQ(std::to_string(narrow), text);
    }
  }
}

TEST(LibraryOptions, WithoutARangeTheTypeIsOneAndNoFractionIsInfinite) {
  uint16_t port = 0;
  EXPECT_TRUE(ReadNumber("0", &port));
  EXPECT_FALSE(ReadNumber("65536", &port));
  double share = 0;
  EXPECT_TRUE(ReadNumber("-2.5e3", &share));
  EXPECT_EQ(share, -2500);
  for (const char* text : {"inf", "-inf", "nan", "1e999"}) {
    EXPECT_FALSE(ReadNumber(text, &share)) << text;
  }
  EXPECT_FALSE(ReadNumber("1.01", 0, 1, &share));
}

TEST(LibraryOptions, OptionsAreTakenOneByOneAndTheFirstWrongOneIsNamed) {
  std::map<std::string, std::string> seen;
  std::string error;
  const auto read = [&](std::string_view key, std::string_view value) {
    seen[std::string(key)] = value;
    return key != "bad";
  };
  EXPECT_TRUE(ReadOptions("a=1+b=two=2++flag", read, &error));
  EXPECT_EQ(seen, (std::map<std::string, std::string>{{"a", "1"}, {"b", "two=2"}, {"flag", ""}}));
  EXPECT_FALSE(ReadOptions("a=1+bad=3+c=4", read, &error));
  EXPECT_EQ(error, "bad=3: no such option, or not such a value");
  EXPECT_FALSE(seen.contains("c"));
}

}  // namespace
}  // namespace sluice::emulator
