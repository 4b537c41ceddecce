// SPDX-License-Identifier: BSD-3-Clause
//
// Runs HostileRun, which the fuzz target also uses, with scripts that are generated from a seed.
#include "device/switch/hostile.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sluice::device::pcie_switch::test {
namespace {

TEST(Hostile, DevicesHurtNobodyButThemselves) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 400; ++round) {
    std::vector<uint8_t> script(200 + random() % 1800);
    for (uint8_t& byte : script) byte = static_cast<uint8_t>(random());
    ASSERT_EQ(HostileRun(script.data(), script.size()).Run(), nullptr) << "round " << round;
  }
}

}  // namespace
}  // namespace sluice::device::pcie_switch::test
