// SPDX-License-Identifier: BSD-3-Clause
//
// Tests fragmentation and reassembly of datagrams.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "fixtures.h"
#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/datagram.h"
#include "packet/defragmenter.h"
#include "packet/fragmenter.h"
#include "packet/parse.h"

namespace sluice::packet {
namespace {

using test::Bytes;

constexpr uint64_t kTimeout = 100, kSeed = 3;

// Returns a datagram with `bytes` bytes of UDP payload. Over IPv6, it has no checksum.
Bytes Udp(bool ipv6, uint32_t bytes) {
  Bytes frame;
  if (ipv6) {
    frame.assign(test::kUdp6.begin(), test::kUdp6.begin() + 62);
    StoreBe16(&frame[18], static_cast<uint16_t>(8 + bytes));
    StoreBe16(&frame[58], static_cast<uint16_t>(8 + bytes));
    frame.resize(62 + bytes);
    std::iota(frame.begin() + 62, frame.end(), uint8_t{0});
    return frame;
  }
  frame.resize(42 + bytes);
  Datagram::WritePlain(frame.data(), {{2, 1}, {2, 2}, {10, 0, 0, 1}, {10, 0, 0, 2}, 7, 9}, bytes);
  std::iota(frame.begin() + 42, frame.end(), uint8_t{0});
  return frame;
}

std::vector<Bytes> Fragments(const Bytes& frame, uint32_t mtu) {
  std::vector<Bytes> pieces;
  Fragmenter fragmenter(mtu);
  EXPECT_FALSE(fragmenter.Fits(static_cast<uint32_t>(frame.size()), 14));
  EXPECT_TRUE(fragmenter.Cut(frame.data(), static_cast<uint32_t>(frame.size()), 14,
                             [&](const uint8_t* piece, uint32_t length) {
                               pieces.emplace_back(piece, piece + length);
                               return true;
                             }));
  return pieces;
}

Bytes Accept(Defragmenter& defragmenter, const Bytes& piece, uint64_t now = 0) {
  const Headers headers = Parse(piece.data(), static_cast<uint32_t>(piece.size()));
  EXPECT_TRUE(Defragmenter::Accepts(headers));
  const Defragmenter::Result taken = defragmenter.Accept(piece.data(), headers, now);
  return {taken.frame, taken.frame + taken.length};
}

// RFC 791 section 3.2: a header has 20 bytes, offsets are in units of 8 bytes, and MF is set in all
// fragments except the last.
TEST(Fragmenter, CutsIpv4AsTheRfcSays) {
  const Bytes frame = Udp(false, 120);  // 128 bytes of IP payload.
  const std::vector<Bytes> pieces = Fragments(frame, 70);
  ASSERT_EQ(pieces.size(), 3u);  // 48, 48 and 32 bytes of IP payload.
  const uint32_t kOffsets[] = {0x2000, 0x2006, 0x000c};
  const size_t kLengths[] = {34 + 48, 34 + 48, 34 + 32};
  for (size_t i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    ASSERT_EQ(pieces[i].size(), kLengths[i]);
    EXPECT_EQ(LoadBe16(&pieces[i][16]), kLengths[i] - 14);
    EXPECT_EQ(LoadBe16(&pieces[i][18]), LoadBe16(&pieces[0][18])) << "one identification";
    EXPECT_EQ(LoadBe16(&pieces[i][20]), kOffsets[i]) << "no DF";
    EXPECT_TRUE(ChecksumHolds(SumBytes(&pieces[i][14], 20)));
    EXPECT_TRUE(std::equal(pieces[i].begin() + 34, pieces[i].end(), frame.begin() + 34 + 48 * i));
  }
  EXPECT_NE(LoadBe16(&Fragments(frame, 70)[0][18]), LoadBe16(&pieces[0][18]));
}

// RFC 8200 section 4.5: a fragment header follows the IPv6 header. Every link carries at least 1280
// bytes.
TEST(Fragmenter, CutsIpv6AsTheRfcSays) {
  const Bytes frame = Udp(true, 2000);
  const std::vector<Bytes> pieces = Fragments(frame, 100);
  ASSERT_EQ(pieces.size(), 2u);
  // 1280 - 48, rounded down to a multiple of 8, is 1232.
  EXPECT_EQ(pieces[0].size(), 14u + 48 + 1232);
  EXPECT_EQ(pieces[1].size(), 14u + 48 + 2008 - 1232);
  const uint32_t kOffsets[] = {1, 1232};
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(LoadBe16(&pieces[i][18]), pieces[i].size() - 54);
    EXPECT_EQ(pieces[i][20], 44);
    EXPECT_EQ(pieces[i][54], 17);
    EXPECT_EQ(LoadBe16(&pieces[i][56]), kOffsets[i]);
    EXPECT_EQ(LoadBe32(&pieces[i][58]), LoadBe32(&pieces[0][58]));
  }
}

TEST(Defragmenter, PutsTogetherWhatComesInAnyOrder) {
  std::mt19937 random(3);
  Defragmenter defragmenter(2, kTimeout, kSeed);
  for (const bool ipv6 : {false, true}) {
    for (const uint32_t bytes : {1273u, 8192u, ipv6 ? 65527u : 65507u}) {
      SCOPED_TRACE(std::to_string(bytes) + (ipv6 ? " IPv6" : " IPv4"));
      Bytes frame = Udp(ipv6, bytes);
      std::vector<Bytes> pieces = Fragments(frame, 1280);
      std::shuffle(pieces.begin(), pieces.end(), random);
      for (size_t i = 0; i + 1 < pieces.size(); ++i) {
        EXPECT_EQ(Accept(defragmenter, pieces[i]), Bytes());
      }
      const Bytes whole = Accept(defragmenter, pieces.back());
      if (!ipv6) {
        EXPECT_TRUE(ChecksumHolds(SumBytes(&whole[14], 20)));
        // The identification differs, and Don't Fragment is not set.
        ASSERT_EQ(whole.size(), frame.size());
        std::copy_n(whole.begin() + 18, 8, frame.begin() + 18);
      }
      EXPECT_EQ(whole, frame);
    }
  }
  EXPECT_EQ(defragmenter.waiting(), 0u);
}

TEST(Defragmenter, EveryFragmentEndsUnderAName) {
  Defragmenter defragmenter(1, kTimeout, kSeed);
  const std::vector<Bytes> pieces = Fragments(Udp(false, 3000), 1280);
  const std::vector<Bytes> others = Fragments(Udp(false, 3000), 1280);
  Accept(defragmenter, pieces[0], 1);
  Accept(defragmenter, others[0], 2);
  EXPECT_EQ(defragmenter.ended(Defragmenter::kNoRoom), 1u);
  Accept(defragmenter, pieces[0], 3);
  EXPECT_EQ(defragmenter.ended(Defragmenter::kOverlap), 2u) << "twice: the datagram ends";
  Accept(defragmenter, pieces[0], 4);
  Accept(defragmenter, pieces[1], 5);
  EXPECT_EQ(defragmenter.waiting(), 2u);
  defragmenter.Expire(4 + kTimeout);
  EXPECT_EQ(defragmenter.waiting(), 2u);
  defragmenter.Expire(5 + kTimeout);
  EXPECT_EQ(defragmenter.waiting(), 0u);
  EXPECT_EQ(defragmenter.ended(Defragmenter::kTimedOut), 2u);
  // Tests a last fragment that ends before another fragment, and a fragment beyond the last one.
  Bytes last = pieces[0];
  last[20] = 0;
  StoreBe16(&last[24], 0);
  Bytes beyond = pieces[1];
  for (Bytes* piece : {&last, &beyond}) {
    StoreBe16(&(*piece)[24], 0);
    if (piece == &last) StoreBe16(&(*piece)[20], 2);
    Store(&(*piece)[24], FinishChecksum(SumBytes(&(*piece)[14], 20)));
  }
  Accept(defragmenter, beyond, 200);
  Accept(defragmenter, last, 201);
  EXPECT_EQ(defragmenter.ended(Defragmenter::kOverlap), 4u);
  // Tests a header with a wrong checksum, and an empty fragment.
  Bytes bent = pieces[0];
  bent[22] ^= 1;
  Accept(defragmenter, bent, 300);
  EXPECT_EQ(defragmenter.ended(Defragmenter::kMalformed), 1u);
  EXPECT_EQ(defragmenter.waiting(), 0u);
}

// For arbitrary fragments, nothing must be written out of bounds, and no fragment may be counted
// twice.
TEST(Defragmenter, SurvivesAnyFragments) {
  std::mt19937 random(4);
  Defragmenter defragmenter(3, kTimeout, kSeed);
  uint64_t taken = 0, wholes = 0;
  for (uint32_t i = 0; i < 20'000; ++i) {
    const bool ipv6 = random() % 2 != 0;
    std::vector<Bytes> pieces = Fragments(Udp(ipv6, 1500), 1280);
    Bytes piece = pieces[random() % pieces.size()];
    // Changes the identification, the offset and More Fragments.
    if (ipv6) {
      StoreBe16(&piece[56], static_cast<uint16_t>(random() & 0xfff9));
      StoreBe32(&piece[58], random() % 4);
    } else {
      StoreBe16(&piece[18], random() % 4);
      StoreBe16(&piece[20], static_cast<uint16_t>(random() & 0x3fff));
      StoreBe16(&piece[24], 0);
      Store(&piece[24], FinishChecksum(SumBytes(&piece[14], 20)));
    }
    const Headers headers = Parse(piece.data(), static_cast<uint32_t>(piece.size()));
    if (!Defragmenter::Accepts(headers)) continue;
    ++taken;
    wholes += defragmenter.Accept(piece.data(), headers, i).frame != nullptr;
  }
  uint64_t ended = defragmenter.waiting();
  for (uint8_t reason = 0; reason < Defragmenter::kReasons; ++reason) {
    ended += defragmenter.ended(static_cast<Defragmenter::Reason>(reason));
  }
  EXPECT_GT(taken, 10'000u);
  EXPECT_LE(ended, taken);
  EXPECT_LE(taken - ended, 8192 * wholes);
}

}  // namespace
}  // namespace sluice::packet
