// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the parsing of QUIC headers. Headers follow RFC 8999 (invariants), RFC 9000 section 17 and
// RFC 9369 section 3.2; ids follow docs/maglev-peers.md, "Katran: QUIC". Two packets are examples
// from the RFCs.
#include "engine/maglev/quic.h"

#include <gtest/gtest.h>

#include "packet/fixtures.h"

namespace sluice::engine::maglev {

bool operator==(const QuicRoute& a, const QuicRoute& b) {
  return a.kind == b.kind && a.server_id == b.server_id;
}

void PrintTo(const QuicRoute& route, std::ostream* out) {
  *out << "kind " << int{static_cast<uint8_t>(route.kind)} << " server " << route.server_id;
}

namespace {

using test::Bytes;
using test::FromHex;

constexpr QuicRoute kNone{QuicKind::kNone};
constexpr QuicRoute kInitial{QuicKind::kInitial};
constexpr QuicRoute kUnknown{QuicKind::kUnknown};
constexpr QuicRoute Server(uint32_t id) { return {QuicKind::kServer, id}; }

constexpr uint32_t kVersion1 = 1, kVersion2 = 0x6b3343cf, kDraft29 = 0xff00001d;
constexpr uint32_t kPrivate = 0xfaceb002;  // A version that no RFC defines.

// 16-bit id 0x1234: 01 000100 | 10001101 | 00 …
const Bytes kId1 = FromHex("448d000000000000");

QuicRoute Read(const Bytes& payload) {
  const test::ExactBuffer buffer(payload);
  return ReadQuicRoute({buffer.data(), buffer.size()});
}

Bytes Short(const Bytes& id, uint8_t flags = 0x40) {
  Bytes packet{flags};
  packet.insert(packet.end(), id.begin(), id.end());
  packet.insert(packet.end(), 20, 0x99);
  return packet;
}

/// Returns a packet with a long header, followed by an empty source id and some payload. `type`
/// contains the two bits after the fixed bit.
Bytes Long(uint32_t version, uint8_t type, const Bytes& id, uint8_t more_flags = 0) {
  Bytes packet{static_cast<uint8_t>(0xc0 | type << 4 | more_flags)};
  for (int shift = 24; shift >= 0; shift -= 8) {
    packet.push_back(static_cast<uint8_t>(version >> shift));
  }
  packet.push_back(static_cast<uint8_t>(id.size()));
  packet.insert(packet.end(), id.begin(), id.end());
  packet.push_back(0);
  packet.insert(packet.end(), 20, 0x99);
  return packet;
}

TEST(MaglevQuic, AnIdOfVersion1Has16Bits) {
  // The expected server ids are (b0 & 0x3f) << 10 | b1 << 2 | b2 >> 6.
  EXPECT_EQ(Read(Short(kId1)), Server(0x1234));
  EXPECT_EQ(Read(Short(FromHex("7fffc00000000000"))), Server(0xffff));
  EXPECT_EQ(Read(Short(FromHex("4000400000000000"))), Server(1));
  EXPECT_EQ(Read(Short(FromHex("4000ffffffffffff"))), Server(3)) << "6 bits of b2 do not count";
  EXPECT_EQ(Read(Short(FromHex("4001000000000000"))), Server(4));
  EXPECT_EQ(Read(Short(FromHex("6000000000000000"))), Server(0x8000));
}

TEST(MaglevQuic, AnIdOfVersion2Has24BitsFromTheSecondByteOn) {
  EXPECT_EQ(Read(Short(FromHex("8012345600000000"))), Server(0x123456));
  EXPECT_EQ(Read(Short(FromHex("bfffffffffffffff"))), Server(0xffffff));
  EXPECT_EQ(Read(Short(FromHex("bf000001ffffffff"))), Server(1));
}

TEST(MaglevQuic, AnIdOfVersion3Has32BitsFromTheSecondByteOn) {
  EXPECT_EQ(Read(Short(FromHex("c012345678000000"))), Server(0x12345678));
  EXPECT_EQ(Read(Short(FromHex("ffffffffffffffff"))), Server(0xffffffff));
  EXPECT_EQ(Read(Short(FromHex("ff00000001ffffff"))), Server(1));
}

TEST(MaglevQuic, AnIdOfVersion0NamesNobody) {
  EXPECT_EQ(Read(Short(FromHex("0012345678000000"))), kUnknown);
  EXPECT_EQ(Read(Short(FromHex("3fffffffffffffff"))), kUnknown);
}

TEST(MaglevQuic, ServerZeroIsNobody) {
  EXPECT_EQ(Read(Short(FromHex("40003fffffffffff"))), kUnknown);
  EXPECT_EQ(Read(Short(FromHex("bf000000ffffffff"))), kUnknown);
  EXPECT_EQ(Read(Short(FromHex("ff00000000ffffff"))), kUnknown);
}

TEST(MaglevQuic, AShortHeaderNeedsAnIdOf8Bytes) {
  const Bytes packet = Short(kId1);
  for (size_t size = 0; size <= packet.size(); ++size) {
    EXPECT_EQ(Read(Bytes(packet.begin(), packet.begin() + size)), size < 9 ? kNone : Server(0x1234))
        << size;
  }
}

TEST(MaglevQuic, WhatEncryptionHidesOfAShortHeaderDoesNotCount) {
  for (int flags = 0; flags < 0x80; ++flags) {
    EXPECT_EQ(Read(Short(kId1, static_cast<uint8_t>(flags))), Server(0x1234)) << flags;
  }
}

TEST(MaglevQuic, BeforeTheHandshakeTheClientChoseTheId) {
  for (const uint32_t version : {kVersion1, kDraft29, kPrivate}) {
    for (const uint8_t more_flags : {0x0, 0xf}) {
      EXPECT_EQ(Read(Long(version, 0, kId1, more_flags)), kInitial) << "Initial";
      EXPECT_EQ(Read(Long(version, 1, kId1, more_flags)), kInitial) << "0-RTT";
      EXPECT_EQ(Read(Long(version, 2, kId1, more_flags)), Server(0x1234)) << "Handshake";
      EXPECT_EQ(Read(Long(version, 3, kId1, more_flags)), Server(0x1234)) << "Retry";
    }
  }
}

TEST(MaglevQuic, Version2NumbersItsPacketTypesDifferently) {
  EXPECT_EQ(Read(Long(kVersion2, 1, kId1)), kInitial) << "Initial";
  EXPECT_EQ(Read(Long(kVersion2, 2, kId1)), kInitial) << "0-RTT";
  EXPECT_EQ(Read(Long(kVersion2, 3, kId1)), Server(0x1234)) << "Handshake";
  EXPECT_EQ(Read(Long(kVersion2, 0, kId1)), Server(0x1234)) << "Retry";
}

TEST(MaglevQuic, ALongHeaderHasAllIdVersions) {
  EXPECT_EQ(Read(Long(kVersion1, 2, FromHex("8012345600000000"))), Server(0x123456));
  EXPECT_EQ(Read(Long(kVersion1, 2, FromHex("c012345678000000"))), Server(0x12345678));
  EXPECT_EQ(Read(Long(kVersion1, 2, FromHex("0012345678000000"))), kUnknown);
}

TEST(MaglevQuic, AnIdInALongHeaderHas8BytesOrMore) {
  for (size_t bytes = 0; bytes <= 20; ++bytes) {
    Bytes id = kId1;
    id.resize(bytes);
    EXPECT_EQ(Read(Long(kVersion1, 2, id)), bytes < 8 ? kNone : Server(0x1234)) << bytes;
    EXPECT_EQ(Read(Long(kVersion1, 0, id)), kInitial) << bytes;
  }
  // In versions other than 1, ids can have up to 255 bytes (RFC 8999 section 5.1).
  Bytes longest = kId1;
  longest.resize(255);
  EXPECT_EQ(Read(Long(kPrivate, 2, longest)), Server(0x1234));
}

TEST(MaglevQuic, ALengthBeyondThePayloadIsNotBelieved) {
  Bytes packet = Long(kVersion1, 2, kId1);
  for (int bytes = 8; bytes < 256; ++bytes) {
    packet[5] = static_cast<uint8_t>(bytes);
    EXPECT_EQ(Read(packet), size_t(bytes) <= packet.size() - 6 ? Server(0x1234) : kNone) << bytes;
  }
}

TEST(MaglevQuic, ALongHeaderCutInFrontOfTheEndOfItsIdIsNone) {
  for (const uint8_t type : {0, 1, 2, 3}) {
    const Bytes packet = Long(kVersion1, type, kId1);
    for (size_t size = 0; size <= packet.size(); ++size) {
      const QuicRoute whole = type < 2 ? kInitial : Server(0x1234);
      EXPECT_EQ(Read(Bytes(packet.begin(), packet.begin() + size)), size < 14 ? kNone : whole)
          << size;
    }
  }
}

TEST(MaglevQuic, ReadsTheExamplesOfTheRfcs) {
  // RFC 9001 appendix A.2: a client's Initial to 0x8394c8f03e515708, version 1, protected.
  EXPECT_EQ(Read(FromHex("c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11")),
            kInitial);
  // RFC 9369 appendix A.2: the same Initial with version 2.
  EXPECT_EQ(Read(FromHex("d76b3343cf088394c8f03e5157080000449ea0c95e82ffe67b6abcdb4298b485")),
            kInitial);
  // RFC 9001 appendix A.4: a server's Retry to a client with an empty id.
  EXPECT_EQ(Read(FromHex("ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f")),
            kNone);
}

}  // namespace
}  // namespace sluice::engine::maglev
