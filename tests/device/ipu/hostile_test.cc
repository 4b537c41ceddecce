// SPDX-License-Identifier: BSD-3-Clause
//
// Tests arbitrary host stores to registers, descriptors and links, and arbitrary frames from the
// wire. The device must not access memory outside the registered memory (AddressSanitizer checks
// this), must not hang, and must count every frame in exactly one counter.
#include <gtest/gtest.h>

#include <random>

#include "hostile_host.h"

namespace sluice::device::ipu {
namespace {

TEST(IpuHostile, RandomHostsNeitherCrashNorHangNorLoseAFrame) {
  std::mt19937_64 random(43);
  Statistics reached{};
  for (int run = 0; run < 100; ++run) {
    std::vector<uint8_t> input(20'000);
    for (uint8_t& byte : input) byte = static_cast<uint8_t>(random());
    HostileHost host;
    EXPECT_EQ(host.Run(input), nullptr) << "run " << run;
    for (uint32_t i = 0; i < reached.size(); ++i) reached[i] += host.statistics()[i];
  }
  for (uint32_t i = 0; i < reached.size(); ++i) {
    EXPECT_GT(reached[i], 0u) << regs::ipu::kStatisticNames[i] << ": the walk must get everywhere";
  }
}

}  // namespace
}  // namespace sluice::device::ipu
