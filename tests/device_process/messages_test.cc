// SPDX-License-Identifier: BSD-3-Clause
//
// The fuzzer's host with bytes of a generator: every compiler's build runs it.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "device.h"
#include "device_socket_seeds.h"
#include "hostile_messages.h"

namespace sluice::emulator {
namespace {

TEST(HostileMessages, WhateverTheySayTheNextHostIsServed) {
  test::HostileMessages messages(TestSocket() + ".messages");
  std::mt19937_64 random(13);
  for (int round = 0; round < 60; ++round) {
    auto bytes = sluice::test::kDeviceSocketSeeds[static_cast<size_t>(round) %
                                                  sluice::test::kDeviceSocketSeeds.size()];
    for (uint64_t edits = random() % 6; edits > 0; --edits) {
      bytes[8 + random() % (bytes.size() - 8)] = static_cast<uint8_t>(random());
    }
    ASSERT_EQ(messages.Hear(bytes.data(), bytes.size()), nullptr) << "round " << round;
  }
  EXPECT_GT(messages.touched(), 200u) << "what they said was not all refused";
}

}  // namespace
}  // namespace sluice::emulator
