// SPDX-License-Identifier: BSD-3-Clause
//
// Completes checksums as a NIC does, and compares the frames with those from scapy in fixtures.h.
#include "packet/partial_checksum.h"

#include <gtest/gtest.h>

#include "fixtures.h"

namespace sluice::packet {
namespace {

using test::Bytes;
using test::ExactBuffer;

Bytes Completed(const Bytes& frame) {
  const ExactBuffer copy(frame);
  CompletePartialChecksum(copy.data(), copy.size());
  return copy.bytes();
}

Bytes WithField(Bytes frame, size_t field, uint16_t value) {
  frame[field] = static_cast<uint8_t>(value >> 8);
  frame[field + 1] = static_cast<uint8_t>(value);
  return frame;
}

// Each case consists of the checksum's offset and the pseudo-header sum, computed by hand. For UDP
// from 10.0.0.1 to 10.0.0.2 with 26 bytes, the sum is 0a00 + 0001 + 0a00 + 0002 + 0011 + 001a.
const struct {
  const char* name;
  const Bytes& frame;
  size_t field;
  uint16_t pseudo;
} kPartial[] = {
    {"UDP", test::kUdp4, 40, 0x142e},
    {"UDP without payload", test::kUdp4Empty, 40, 0x141c},
    {"TCP of odd length", test::kTcp4Options, 50, 0x142e},
    {"TCP behind which padding follows", test::kTcp4Syn, 50, 0x141d},
    {"behind IPv4 options", test::kUdp4IpOptions, 44, 0x142e},
    {"behind a tag", test::kVlanUdp4, 44, 0x142e},
    {"IPv6", test::kUdp6, 60, 0xfa2f},
    {"IPv6 behind two tags", test::kQinQUdp6, 68, 0xfa2f},
    {"TCP behind IPv6 extension headers", test::kTcp6Extensions, 86, 0xfa21},
};

TEST(PartialChecksum, IsCompleted) {
  for (const auto& [name, frame, field, pseudo] : kPartial) {
    EXPECT_EQ(Completed(WithField(frame, field, pseudo)), frame) << name;
  }
}

TEST(PartialChecksum, IsWhatOnlyThatSumIs) {
  for (const auto& [name, frame, field, pseudo] : kPartial) {
    EXPECT_EQ(Completed(frame), frame) << name << ", complete";
    for (const int wrong : {pseudo - 1, pseudo + 1, 0, 0xffff}) {
      const Bytes damaged = WithField(frame, field, static_cast<uint16_t>(wrong));
      EXPECT_EQ(Completed(damaged), damaged) << name << ", " << wrong;
    }
  }
}

// RFC 768: a checksum of 0 is sent as 0xffff. With two bytes of payload, the pseudo-header sum is
// 0a00 + 0001 + 0a00 + 0002 + 0011 + 000a = 141e. The ports 03e8 and 07d0 and the length 000a
// increase the sum to 1fe0, and a payload of e01f increases it to ffff. The complement of ffff is
// 0.
TEST(PartialChecksum, OfUdpIsNeverZero) {
  const Bytes frame = test::FromHex(
      "0200000000020200000000010800"
      "4500001e00010000401166cc0a0000010a000002"
      "03e807d0000a141ee01f");
  EXPECT_EQ(Completed(frame), WithField(frame, 40, 0xffff));
}

TEST(PartialChecksum, OfAnythingElseIsLeftAlone) {
  // These fields have the same values, but the frames have no UDP or TCP checksum to complete.
  const Bytes fragment = WithField(test::kUdp4FirstFragment, 40, 0x1444);
  const Bytes routed = WithField(test::kUdp6Routed, 84, 0xfa2f);
  for (const Bytes& frame : {fragment, routed, test::kUdp4LaterFragment, test::kPing4, test::kPing6,
                             test::kArpRequest, test::kLldp, Bytes{}, Bytes(13)}) {
    EXPECT_EQ(Completed(frame), frame);
  }
  // The missing bytes of a truncated frame cannot be summed.
  const Bytes partial = WithField(test::kUdp4, 40, 0x142e);
  for (size_t bytes = 0; bytes < partial.size(); ++bytes) {
    const Bytes cut(partial.begin(), partial.begin() + static_cast<ptrdiff_t>(bytes));
    EXPECT_EQ(Completed(cut), cut) << bytes;
  }
}

TEST(PartialChecksum, ComesFromPortsOfTheKernel) {
  for (const char* const driver : {"net_af_packet", "net_af_xdp", "net_pcap"}) {
    EXPECT_TRUE(HidesPartialChecksums(driver)) << driver;
  }
  for (const char* const driver : {"net_ipu", "net_tap", "net_ixgbe", ""}) {
    EXPECT_FALSE(HidesPartialChecksums(driver)) << driver;
  }
}

}  // namespace
}  // namespace sluice::packet
