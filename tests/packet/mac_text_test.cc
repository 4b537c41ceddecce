// SPDX-License-Identifier: BSD-3-Clause
#include "packet/mac_text.h"

#include <gtest/gtest.h>

namespace sluice::packet {
namespace {

TEST(MacText, IsSixNumbers) {
  constexpr MacAddress kMac{0x02, 0xab, 0, 0x0c, 0xff, 0x10};
  for (const char* const text : {"02:ab:00:0c:ff:10", "2:AB:0:C:fF:10", "02-ab-00-0c-ff-10"}) {
    EXPECT_EQ(ParseMac(text), kMac) << text;
  }
  for (const char* const text :
       {"", "02", "02:ab:00:0c:ff", "02:ab:00:0c:ff:", "02:ab:00:0c:ff:10:", "02:ab:00:0c:ff:10:11",
        ":ab:00:0c:ff:10", "02:ab:00:0c:ff:010", "02:ab:00:0c:ff:1g", "02:ab:00:0c:ff:-1",
        "02ab000cff10", " 02:ab:00:0c:ff:10"}) {
    EXPECT_EQ(ParseMac(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace sluice::packet
