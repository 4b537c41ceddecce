// SPDX-License-Identifier: BSD-3-Clause
#include "packet/quantity.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace sluice::packet {
namespace {

TEST(Quantity, ReadsWhatPeopleWrite) {
  const std::pair<const char*, double> rates[] = {
      {"1", 1},        {"500000", 5e5},     {"500k", 5e5},   {"14.88M", 14.88e6},
      {"1.5G", 1.5e9}, {"1000G", 1e12},     {"0.001", 1e-3}, {".5k", 500},
      {"5.", 5},       {"0.000001k", 1e-3}, {"007", 7}};
  for (const auto& [text, expected] : rates) {
    double pps = 0;
    EXPECT_TRUE(ReadPacketRate(text, &pps)) << text;
    EXPECT_DOUBLE_EQ(pps, expected) << text;
  }
  const std::pair<const char*, double> times[] = {
      {"1ns", 1}, {"2.5us", 2500}, {"500ms", 5e8}, {"3600s", 3.6e12}};
  for (const auto& [text, expected] : times) {
    double ns = 0;
    EXPECT_TRUE(ReadQuantity(text, kTimeUnits, 1, 3.6e12, &ns)) << text;
    EXPECT_DOUBLE_EQ(ns, expected) << text;
  }
}

TEST(Quantity, RefusesAnythingElseAndLeavesTheValueAlone) {
  double value = 42;
  for (const char* text :
       {"",       "k",    "fast", "0",    "-1k",  "+1k",  "1001G", "0.0009", "1e3", "1E3",
        "1e300G", "0x10", "1 k",  " 1k",  "1k ",  "1kk",  "1K",    "1m",     "1T",  "1,5M",
        "1.2.3",  "inf",  "nan",  "-inf", "infk", "1pps", "1e",    "--1",    "1\n"}) {
    EXPECT_FALSE(ReadPacketRate(text, &value)) << text;
  }
  for (const char* text : {"1", "s", "0.5ns", "3601s", "1m", "1e3ns", "1S", "nans"}) {
    EXPECT_FALSE(ReadQuantity(text, kTimeUnits, 1, 3.6e12, &value)) << text;
  }
  EXPECT_EQ(value, 42);
}

TEST(Quantity, ReadsNoByteBeyondTheText) {
  const std::string_view longer = "12M5";
  double pps = 0;
  EXPECT_TRUE(ReadPacketRate(longer.substr(0, 2), &pps));
  EXPECT_EQ(pps, 12);
  EXPECT_TRUE(ReadPacketRate(longer.substr(0, 3), &pps));
  EXPECT_EQ(pps, 12e6);
}

}  // namespace
}  // namespace sluice::packet
