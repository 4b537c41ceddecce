// SPDX-License-Identifier: BSD-3-Clause
#include "hostile.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sluice::device::stage::test {
namespace {

TEST(Hostile, NodesHurtNobodyButThemselves) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint8_t> script(200 + random() % 1800);
    for (uint8_t& byte : script) byte = static_cast<uint8_t>(random());
    ASSERT_EQ(HostileRun(script.data(), script.size()).Run(), nullptr) << "round " << round;
  }
}

}  // namespace
}  // namespace sluice::device::stage::test
