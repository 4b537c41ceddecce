// SPDX-License-Identifier: BSD-3-Clause
#include "packet/rewrite.h"

#include <gtest/gtest.h>

#include <random>

#include "fixtures.h"
#include "oracle.h"

namespace sluice::packet {
namespace {

using test::Bytes;

TEST(Rewrite, SwapsMacAddresses) {
  Bytes frame = test::FromHex("0102030405060708090a0b0c0800");
  SwapMacs(frame.data());
  EXPECT_EQ(frame, test::FromHex("0708090a0b0c0102030405060800"));
}

TEST(Rewrite, SwapsIpAddressesAndPorts) {
  Bytes frame = test::kUdp4;
  SwapIpv4Addresses(frame.data() + 14);
  SwapPorts(frame.data() + 34);
  EXPECT_EQ(Bytes(frame.begin() + 26, frame.begin() + 38),
            test::FromHex("0a0000020a00000107d003e8"));
  frame = test::kUdp6;
  SwapIpv6Addresses(frame.data() + 14);
  EXPECT_EQ(Bytes(frame.begin() + 22, frame.begin() + 54),
            test::FromHex("fd000000000000000000000000000002fd000000000000000000000000000001"));
}

TEST(Rewrite, SwapsTwiceAreNone) {
  for (const test::Fixture& fixture : test::kFixtures) {
    test::ExactBuffer frame(*fixture.bytes);
    for (int round = 0; round < 2; ++round) SwapMacs(frame.data());
    EXPECT_EQ(frame.bytes(), *fixture.bytes);
  }
}

/// Applies every kind of setter to every fixture with ports or a pseudo-header, with values that
/// drive checksums through 0x0000 and 0xffff. Checksums must stay valid.
TEST(Rewrite, SettersKeepChecksumsValid) {
  std::mt19937_64 random(3);
  const auto word = [&]() -> uint8_t {
    const uint64_t dice = random();
    return dice % 4 == 0 ? 0x00 : dice % 4 == 1 ? 0xff : static_cast<uint8_t>(dice >> 8);
  };
  for (const test::Fixture& fixture : test::kFixtures) {
    SCOPED_TRACE(fixture.name);
    const test::ExactBuffer frame(*fixture.bytes);
    const Headers headers = Parse(frame.data(), frame.size());
    if (!headers.IsIp()) continue;
    for (int round = 0; round < 2000; ++round) {
      const End end = random() % 2 ? End::kSource : End::kDestination;
      if (headers.network == Network::kIpv4) {
        SetIpv4Address(frame.data(), headers, end, {word(), word(), word(), word()});
      } else {
        Ipv6Address address;
        for (uint8_t& byte : address) byte = word();
        SetIpv6Address(frame.data(), headers, end, address);
      }
      if (headers.HasPorts()) {
        SetPort(frame.data(), headers, end, static_cast<uint16_t>(word() << 8 | word()));
      }
      ASSERT_TRUE(test::ChecksumsHold(frame.data(), headers));
    }
  }
}

TEST(Rewrite, SettersWriteTheField) {
  test::ExactBuffer frame(test::kUdp4);
  const Headers headers = Parse(frame.data(), frame.size());
  SetIpv4Address(frame.data(), headers, End::kSource, {192, 168, 1, 2});
  SetIpv4Address(frame.data(), headers, End::kDestination, {192, 168, 3, 4});
  SetPort(frame.data(), headers, End::kSource, 80);
  SetPort(frame.data(), headers, End::kDestination, 65535);
  SetMac(frame.data(), End::kDestination, {2, 0, 0, 0, 0, 9});
  // The expected bytes were computed with scapy.
  EXPECT_EQ(frame.bytes(),
            test::FromHex("02000000000902000000000108004500002e123440004011a334c0a80102c0a80304"
                          "0050ffff001a8010303132333435363738393a3b3c3d3e3f4041"));
}

TEST(Rewrite, AFragmentKeepsTheDatagramsChecksum) {
  // A change of an address updates the checksum in a first fragment, as in a complete datagram.
  test::ExactBuffer first(test::kUdp4FirstFragment);
  const Headers headers = Parse(first.data(), first.size());
  SetIpv4Address(first.data(), headers, End::kSource, {10, 0, 0, 3});
  const uint16_t before = LoadBe16(test::kUdp4FirstFragment.data() + 40);
  EXPECT_EQ(LoadBe16(first.data() + 40), before - 2);  // The address increased by 2.
  // A later fragment has data where the checksum would be.
  test::ExactBuffer later(test::kUdp4LaterFragment);
  const Headers later_headers = Parse(later.data(), later.size());
  SetIpv4Address(later.data(), later_headers, End::kSource, {10, 0, 0, 3});
  EXPECT_EQ(Bytes(later.data() + 34, later.data() + 58),
            Bytes(test::kUdp4LaterFragment.begin() + 34, test::kUdp4LaterFragment.end()));
}

TEST(Rewrite, NoUdpChecksumStaysNone) {
  test::ExactBuffer frame(test::kUdp4NoChecksum);
  const Headers headers = Parse(frame.data(), frame.size());
  SetPort(frame.data(), headers, End::kSource, 4711);
  SetIpv4Address(frame.data(), headers, End::kSource, {1, 2, 3, 4});
  EXPECT_EQ(LoadBe16(frame.data() + 40), 0);
}

TEST(Rewrite, AnAllZeroIcmpMessageGetsAllOnes) {
  // An echo reply 0/0. Its data is zero except for one byte, which also becomes zero.
  test::ExactBuffer frame(test::kPing4Zero);
  frame.data()[34] = 0;
  frame.data()[42] = 0xff;
  StoreBe16(frame.data() + 36, 0x00ff);
  const Headers headers = Parse(frame.data(), frame.size());
  ASSERT_TRUE(test::ChecksumsHold(frame.data(), headers));
  frame.data()[42] = 0;
  RepairL4Checksum(frame.data(), headers, 0x00ff, 0x0000);
  EXPECT_EQ(LoadBe16(frame.data() + 36), 0xffff);
  EXPECT_TRUE(test::ChecksumsHold(frame.data(), headers));
}

}  // namespace
}  // namespace sluice::packet
