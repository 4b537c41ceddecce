// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/hashes.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string_view>
#include <vector>

#include "engine/maglev/address.h"
#include "maglev/katran_endpoints.h"

namespace sluice::engine::maglev {
namespace {

using Words = std::pair<uint64_t, uint64_t>;
using test::KatranMurmur;
using test::KatranPermutation;

std::span<const uint8_t> Bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(Jhash, IsLookup3ThatStartsWithTheLength) {
  // The values that driver5 in lookup3.c prints.
  EXPECT_EQ(Jhash({}, 0), 0xdeadbeefu);
  EXPECT_EQ(Jhash({}, 0xdeadbeef), 0xbd5b7ddeu);
  EXPECT_EQ(Jhash(Bytes("Four score and seven years ago"), 0), 0x17770551u);
  EXPECT_EQ(Jhash(Bytes("Four score and seven years ago"), 1), 0xcd628161u);
}

TEST(Jhash, OfTwoWordsIsThatOfTheirBytes) {
  for (const uint32_t seed : {0u, 1u, 33554944u, 0xffffffffu}) {
    uint8_t bytes[8];
    packet::Store<uint32_t>(bytes, 0x0101a8c0);
    packet::Store<uint32_t>(bytes + 4, 0x5000697a);
    EXPECT_EQ(Jhash2Words(0x0101a8c0, 0x5000697a, seed), Jhash(bytes, seed));
  }
}

TEST(Murmur3, MatchesThePublishedVectors) {
  EXPECT_EQ(Murmur3({}, 0, 0), Words(0, 0));
  EXPECT_EQ(Murmur3(Bytes("hello"), 0, 0), Words(0xcbd8a7b341bd9b02, 0x5b1e906a48ae1d19));
  EXPECT_EQ(Murmur3(Bytes("hello, world"), 0, 0), Words(0x342fac623a5ebc8e, 0x4cdcbc079642414d));
  EXPECT_EQ(Murmur3(Bytes("The quick brown fox jumps over the lazy dog."), 0, 0),
            Words(0xcd99481f9ee902c9, 0x695da1a38987b6e7));
}

TEST(Murmur3, MatchesKatransChecks) {
  EXPECT_EQ(KatranMurmur(0, 42, 0), 0x3ac79cd6e3dbd8e0);
  EXPECT_EQ(KatranMurmur(1, 42, 0), 0x0b85e5b738ec6ba3);
  EXPECT_EQ(KatranMurmur(1, 2718281828, 2307), 0x811a3d9354794c04);
}

TEST(Fnv32, MatchesThePublishedVectors) {
  EXPECT_EQ(Fnv32({}), 0x811c9dc5u);
  EXPECT_EQ(Fnv32(Bytes("a")), 0x050c5d7eu);
  EXPECT_EQ(Fnv32(Bytes("foobar")), 0x31f0b262u);
}

TEST(SpookyShort, MatchesThePublishedVectors) {
  // Vectors from TestSpookyV2.cpp: for each length, the low 32 bits of the hash of the bytes 128,
  // 129, ….
  constexpr uint32_t kExpected[] = {0x6bf50919, 0x70de1d26, 0xa2b37298, 0x35bc5fbf, 0x8223b279,
                                    0x5bcb315e, 0x53fe88a1, 0xf9f1a233, 0xee193982, 0x54f86f29};
  std::array<uint8_t, std::size(kExpected)> bytes;
  std::iota(bytes.begin(), bytes.end(), uint8_t{128});
  for (size_t length = 0; length < std::size(kExpected); ++length) {
    EXPECT_EQ(static_cast<uint32_t>(SpookyShort(std::span(bytes).first(length), 0, 0).first),
              kExpected[length])
        << length;
  }
}

TEST(Hashes, ReadNothingBehindTheirBytes) {
  for (size_t length = 0; length < 64; ++length) {
    // An allocation of the exact size, so that a sanitizer detects overruns.
    const std::vector<uint8_t> exact(length, 7);
    std::vector<uint8_t> longer(length + 16, 9);
    std::copy(exact.begin(), exact.end(), longer.begin());
    const auto same = std::span<const uint8_t>(longer).first(length);
    EXPECT_EQ(Jhash(exact, 1), Jhash(same, 1));
    EXPECT_EQ(Murmur3(exact, 1, 2), Murmur3(same, 1, 2));
    EXPECT_EQ(SpookyShort(exact, 1, 2), SpookyShort(same, 1, 2));
    EXPECT_EQ(Fnv32(exact), Fnv32(same));
  }
}

/// An endpoint in Katran: the hash of its address, and its offset and skip for 65537 slots.
struct Endpoint {
  const char* address;
  uint64_t hash;
  uint32_t offset, skip;
};

TEST(KatranEndpoints, HaveTheHashesOffsetsAndSkipsOfItsLibrary) {
  constexpr Endpoint kEndpoints[] = {
      {"10.0.0.1", 15452190748042156372u, 4577, 18292},
      {"10.0.0.2", 3230249507672883833u, 42248, 16076},
      {"10.0.0.3", 7977179616151763037u, 65365, 24158},
      {"fc00::1", 7270861649299822404u, 7827, 60497},
      {"fc00::2", 9786963569722665307u, 12132, 1761},
      {"fc00::3", 805685465572700183u, 61702, 64040},
  };
  for (const Endpoint& endpoint : kEndpoints) {
    SCOPED_TRACE(endpoint.address);
    const IpAddress address = *IpAddress::Parse(endpoint.address);
    uint64_t hash;
    if (address.ipv6) {
      const auto [first, second] = SpookyShort(address.bytes, 0, 0);
      hash = CityMix(10, CityMix(first, second));
    } else {
      hash = CityMix(2, Fnv32(std::span(address.bytes).first(4)));
    }
    EXPECT_EQ(hash, endpoint.hash);
    const Permutation permutation = KatranPermutation(endpoint.hash, kSmallRing);
    EXPECT_EQ(permutation.offset, endpoint.offset);
    EXPECT_EQ(permutation.skip, endpoint.skip);
  }
}

}  // namespace
}  // namespace sluice::engine::maglev
