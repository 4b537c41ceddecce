// SPDX-License-Identifier: BSD-3-Clause
//
// Tests arbitrary host stores to registers and slots, and arbitrary frames from the wire. The NIC
// must not access memory outside the registered memory (AddressSanitizer checks this), must not
// hang, and must count every frame in exactly one counter.
#include <gtest/gtest.h>

#include <random>

#include "host.h"
#include "hostile_host.h"

namespace sluice::device::enso {
namespace {

TEST(EnsoHostile, RandomHostsNeitherCrashNorHangNorLoseAFrame) {
  std::mt19937_64 random(42);
  for (int run = 0; run < 150; ++run) {
    std::vector<uint8_t> input(20'000);
    for (uint8_t& byte : input) byte = static_cast<uint8_t>(random());
    EXPECT_EQ(HostileHost().Run(input, &MakeNic), nullptr) << "run " << run;
  }
}

}  // namespace
}  // namespace sluice::device::enso
