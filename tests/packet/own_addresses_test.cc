// SPDX-License-Identifier: BSD-3-Clause
#include "packet/own_addresses.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sluice::packet {
namespace {

TEST(OwnAddresses, RefusesWhatIsNoHostAddress) {
  for (const char* bad : {"", ",", "10.0.0.1,", "10.0.0", "10.0.0.256", "0.0.0.0", "127.0.0.1",
                          "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.1", "ff02::1",
                          "fe80::1%eth0", "10.0.0.1/24", "host", " 10.0.0.1"}) {
    OwnAddresses own;
    std::string error;
    EXPECT_FALSE(own.Add(bad, &error)) << bad;
    EXPECT_NE(error.find("give unicast IPv4 or IPv6 addresses"), std::string::npos);
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
  OwnAddresses own;
  std::string error;
  EXPECT_FALSE(own.Add(std::string_view("10.0.0.1\0x", 10), &error));
}

TEST(OwnAddresses, HoldsSixteenOfEachFamily) {
  OwnAddresses own;
  std::string error;
  for (int i = 1; i <= 16; ++i) {
    EXPECT_TRUE(own.Add("10.0.0." + std::to_string(i), &error)) << error;
    EXPECT_TRUE(own.Add("fd00::" + std::to_string(i), &error)) << error;
  }
  EXPECT_FALSE(own.Add("10.0.0.17", &error));
  EXPECT_EQ(error, "10.0.0.17: give unicast IPv4 or IPv6 addresses, at most 16 of each family");
  EXPECT_FALSE(own.Add("fd00::17", &error));
}

}  // namespace
}  // namespace sluice::packet
