// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that key hashes equal those of xxhash. Clients compute the same hashes, and snapshots
// contain them.
#include "engine/kv/hash.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sluice::engine::kv {
namespace {

TEST(KvHash, IsXxh3OfEveryLengthAndSeed) {
  std::mt19937_64 random(1);
  for (size_t bytes = 0; bytes <= 250; ++bytes) {
    for (int i = 0; i < (bytes == 8 ? 10'000 : 10); ++i) {
      std::vector<uint8_t> key(bytes);
      for (uint8_t& byte : key) byte = static_cast<uint8_t>(random());
      const uint64_t seed = i == 0 ? 0 : i == 1 ? ~uint64_t{0} : random();
      ASSERT_EQ(Xxh3(seed).Of(key), XXH3_64bits_withSeed(key.data(), bytes, seed)) << bytes;
    }
  }
}

TEST(KvHash, RoutesByTheUnseededHashAndIndexesByTheSecret) {
  const std::vector<uint8_t> key{'s', 'i', 'x', ' ', 'b', 'y', 't', 'e'};
  EXPECT_EQ(RouteHash(key), XXH3_64bits(key.data(), key.size()));
  EXPECT_EQ(HashOf(key, 42).route, RouteHash(key));
  EXPECT_EQ(HashOf(key, 42).index, XXH3_64bits_withSeed(key.data(), key.size(), 42));
}

}  // namespace
}  // namespace sluice::engine::kv
