// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the rate limiter and timestamps. The expected values are from a simulation of the Ensō RTL
// (v0.4.6, github.com/crossroadsfpga/enso). A cycle is 5 ns.
#include "host.h"

namespace sluice::device::enso {
namespace {

constexpr uint32_t kBit31 = 1u << 31;
constexpr uint64_t kBit63 = uint64_t{1} << 63;
constexpr uint64_t kStart = 1'000'003;  ///< A cycle that is not a multiple of any period below.

struct Rate {
  uint16_t numerator, denominator;
  uint32_t enable;
  size_t flits;  ///< Flits that pass in 10,000 cycles with the wire always ready.
};

class EnsoRateVectors : public testing::TestWithParam<Rate> {
 protected:
  static constexpr uint32_t kCycles = 10'000;

  EnsoRateVectors() : host({.pipe_flits = 64, .nb_entries = 16384}) {
    host.OpenNb(0);
    host.nic->SetTime(kStart * 5);
    host.RateLimit(GetParam().numerator, GetParam().denominator, GetParam().enable);
    uint64_t bytes = 0;
    const uint64_t bus = host.Compose({MakeFrame(64)}, &bytes);
    for (uint32_t i = 0; i < kCycles; ++i) host.PutData(0, bus, bytes);
    host.StoreTxTail(0);
    for (uint32_t i = 1; i <= kCycles; ++i) {
      host.nic->SetTime((kStart + i) * 5);
      passed.push_back(static_cast<char>('0' + host.Transmit(/*budget=*/1)));
    }
  }

  Host host;
  std::string passed;  ///< Number of flits that passed in each cycle, as a digit 0 or 1.
};

TEST_P(EnsoRateVectors, FlitsIn10000Cycles) {
  EXPECT_EQ(host.wire.frames.size(), GetParam().flits);
  if (GetParam().flits != 3750) return;
  for (size_t i = 0; i < kCycles; i += 8) ASSERT_EQ(passed.substr(i, 8), "11100000") << i;
}

INSTANTIATE_TEST_SUITE_P(Vectors, EnsoRateVectors,
                         testing::Values(Rate{1, 8, 0, 10000}, Rate{3, 8, kBit31, 3750},
                                         Rate{372, 1000, kBit31, 3720}, Rate{10, 8, kBit31, 10000},
                                         Rate{0, 8, kBit31, 0}, Rate{3, 8, 1, 10000}),
                         [](const auto& info) {
                           const Rate& rate = info.param;
                           return std::to_string(rate.numerator) + "Of" +
                                  std::to_string(rate.denominator) + "Enable" +
                                  std::to_string(rate.enable);
                         });

class EnsoTimestampVectors : public testing::Test {
 protected:
  EnsoTimestampVectors() { host.OpenFallback(1, 0); }
  Bytes Sent(const Bytes& frame) {
    host.wire.frames.clear();
    host.Send(0, {frame});
    EXPECT_EQ(host.Transmit(), 1u);
    return host.wire.frames.at(0);
  }
  Host host;
};

TEST_F(EnsoTimestampVectors, FourBytesAtTheOffsetCarryTheCounterAndOnTheWayBackTheirAge) {
  uint64_t cycle = kStart;
  for (const uint32_t offset : {0u, 18u, 42u, 60u}) {
    host.nic->SetTime(cycle * 5);
    host.Timestamp(kBit63, offset);
    Bytes expected = MakeFrame(128);
    PutBe32(expected, offset, static_cast<uint32_t>(cycle));
    const Bytes sent = Sent(MakeFrame(128));
    EXPECT_EQ(sent, expected) << offset;

    host.nic->SetTime((cycle += 100) * 5);
    const uint32_t flit = host.Tail(0);
    ASSERT_TRUE(host.Receive(sent));
    PutBe32(expected, offset, 100);
    EXPECT_EQ(std::memcmp(host.Flit(0, flit), expected.data(), expected.size()), 0) << offset;
  }
}

TEST_F(EnsoTimestampVectors, AnEnableFieldOfOneLeavesThemOff) {
  host.nic->SetTime(kStart * 5);
  host.Timestamp(1, 18);
  const Bytes frame = MakeFrame(128);
  EXPECT_EQ(Sent(frame), frame);
  ASSERT_TRUE(host.Receive(frame));
  EXPECT_EQ(std::memcmp(host.Flit(0, 0), frame.data(), frame.size()), 0);
}

}  // namespace
}  // namespace sluice::device::enso
