// SPDX-License-Identifier: BSD-3-Clause
//
// Tests how wires parse their options: only complete numbers within their range are accepted.
#include "emulator/options.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace sluice::emulator {
namespace {

TEST(Options, ANumberIsReadInFullAndWithinItsRange) {
  const struct {
    const char* text;
    bool fits;
  } kCases[] = {{"1", true},    {"65535", true}, {"0", false},    {"65536", false},
                {"", false},    {"12x", false},  {" 12", false},  {"-1", false},
                {"1.5", false}, {"+7", false},   {"0x10", false}, {"4294967297", false}};
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

TEST(Options, WithoutARangeTheTypeIsOneAndNoFractionIsInfinite) {
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

TEST(Options, OptionsAreTakenOneByOneAndTheFirstWrongOneIsNamed) {
  std::map<std::string, std::string> seen;
  std::string error;
  const auto read = [&](std::string_view key, std::string_view value) {
    seen[std::string(key)] = value;
    return key != "bad";
  };
  EXPECT_TRUE(ReadOptions("", read, &error));
  EXPECT_TRUE(ReadOptions("a=1+b=two=2+flag", read, &error));
  EXPECT_EQ(seen, (std::map<std::string, std::string>{{"a", "1"}, {"b", "two=2"}, {"flag", ""}}));
  EXPECT_FALSE(ReadOptions("a=1+bad=3+c=4", read, &error));
  EXPECT_EQ(error, "bad=3: unknown option or invalid value");
  EXPECT_FALSE(seen.contains("c"));
}

TEST(Options, AnOptionMayBeWrongInWordsOfItsOwnAndNoneIsEmpty) {
  std::string error = "of another time";
  const auto read = [&](std::string_view key, std::string_view value) {
    return !key.empty() && (key != "size" || Refuse("wire=x: size", value, "give 64", &error));
  };
  EXPECT_FALSE(ReadOptions("a=1+size=63", read, &error));
  EXPECT_EQ(error, "wire=x: size=63: give 64");
  for (const char* text : {"a++b", "a+", "+a"}) {
    EXPECT_FALSE(ReadOptions(text, read, &error)) << text;
    EXPECT_EQ(error, ": unknown option or invalid value") << text;
  }
}

TEST(Options, DurationsAreWholeNanosecondsUpToAnHour) {
  const std::pair<const char*, uint64_t> good[] = {
      {"1ns", 1}, {"2.5us", 2500}, {"1.001us", 1001}, {"3600s", 3'600'000'000'000}};
  for (const auto& [text, expected] : good) {
    uint64_t ns = 0;
    EXPECT_TRUE(ReadDuration(text, &ns)) << text;
    EXPECT_EQ(ns, expected) << text;
  }
  uint64_t ns = 0;
  for (const char* text : {"", "1", "0.5ns", "3601s"})
    EXPECT_FALSE(ReadDuration(text, &ns)) << text;
}

}  // namespace
}  // namespace sluice::emulator
