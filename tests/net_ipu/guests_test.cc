// SPDX-License-Identifier: BSD-3-Clause
//
// Tests how secondary processes are numbered.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "net_ipu/ipu_guests.h"

namespace sluice::net_ipu::test {
namespace {

TEST(GuestNumbers, AreEachProcesssUntilItIsGone) {
  Guests guests;
  std::set<std::string> gone;
  const auto number = [&](const std::string& name) {
    return guests.NumberOf(name, [&](const std::string& other) { return !gone.contains(other); });
  };
  std::set<uint32_t> numbers;
  for (uint32_t i = 0; i < Guests::kMost; ++i) numbers.insert(number("p" + std::to_string(i)));
  EXPECT_EQ(numbers.size(), Guests::kMost);
  EXPECT_EQ(*numbers.rbegin(), Guests::kMost - 1);
  const uint32_t fourth = number("p3"), tenth = number("p9");
  EXPECT_EQ(number("p3"), fourth) << "for its next port";
  EXPECT_EQ(number("late"), Guests::kMost) << "all are alive";
  gone = {"p3", "p9"};
  EXPECT_EQ(number("late"), fourth);
  EXPECT_EQ(number("later"), tenth) << "it has not asked since";
  EXPECT_EQ(number("last"), Guests::kMost);
}

}  // namespace
}  // namespace sluice::net_ipu::test
