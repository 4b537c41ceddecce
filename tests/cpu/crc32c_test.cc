// SPDX-License-Identifier: BSD-3-Clause
//
// Golden vectors of RFC 3720 appendix B.4.
#include "cpu/crc32c.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

namespace sluice::cpu {
namespace {

struct Golden {
  std::vector<uint8_t> bytes;
  uint32_t crc;
};

std::vector<Golden> Rfc3720() {
  std::vector<uint8_t> up(32), down(32);
  std::iota(up.begin(), up.end(), uint8_t{0});
  std::iota(down.rbegin(), down.rend(), uint8_t{0});
  const std::vector<uint8_t> iscsi_read = {
      0x01, 0xc0, 0, 0,    0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 4, 0,
      0,    0,    0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 2,    0, 0, 0, 0, 0, 0, 0};
  return {{std::vector<uint8_t>(32, 0x00), 0x8a91'36aa},
          {std::vector<uint8_t>(32, 0xff), 0x62a8'ab43},
          {up, 0x46dd'794e},
          {down, 0x113f'db5c},
          {iscsi_read, 0xd996'3a56}};
}

TEST(Crc32c, GoldenVectorsOfRfc3720) {
  for (const Golden& golden : Rfc3720()) {
    EXPECT_EQ(Crc32cByTable(golden.bytes.data(), golden.bytes.size()), golden.crc);
    EXPECT_EQ(Crc32c(golden.bytes.data(), golden.bytes.size()), golden.crc);
  }
}

TEST(Crc32c, TableAndInstructionAgreeAtEveryLength) {
  std::array<uint8_t, 67> bytes;
  std::iota(bytes.begin(), bytes.end(), uint8_t{17});
  for (size_t length = 0; length <= bytes.size(); ++length)
    EXPECT_EQ(Crc32c(bytes.data(), length), Crc32cByTable(bytes.data(), length)) << length;
}

}  // namespace
}  // namespace sluice::cpu
