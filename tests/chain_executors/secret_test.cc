// SPDX-License-Identifier: BSD-3-Clause
//
// Searches all memory of this process for copies of an AES-GCM key.
#include "secret.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstring>
#include <fstream>
#include <functional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "aes_gcm.h"
#include "stage.h"

namespace sluice::chain_app {
namespace {

struct Mapping {
  uintptr_t begin = 0, end = 0;
  bool writable = false;
  bool dumped = true;
};

/// Returns the mappings of this process. A mapping with "dd" in VmFlags (MADV_DONTDUMP) is excluded
/// from core dumps (proc(5), smaps).
std::vector<Mapping> Mappings() {
  std::vector<Mapping> mappings;
  std::ifstream smaps("/proc/self/smaps");
  for (std::string line; std::getline(smaps, line);) {
    Mapping one;
    std::array<char, 5> rights{};
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &one.begin, &one.end,
                    rights.data()) == 3) {
      one.writable = std::string_view(rights.data()).starts_with("rw");
      mappings.push_back(one);
    } else if (line.starts_with("VmFlags:") && line.find(" dd") != line.npos) {
      mappings.back().dumped = false;
    }
  }
  return mappings;
}

/// KeyByte computes the key from these bytes, one at a time, so that the test does not contain a
/// copy of the key.
constexpr std::array<uint8_t, 32> kMasked = {
    0x3b, 0x91, 0x0e, 0xc7, 0x58, 0x22, 0xf4, 0x6d, 0x87, 0x1a, 0xe9, 0x40, 0xbc, 0x73, 0x05, 0xd2,
    0x6e, 0x94, 0x2f, 0xa8, 0x11, 0xcd, 0x7b, 0x36, 0xe0, 0x59, 0x83, 0xf7, 0x4c, 0x08, 0xba, 0x65};
uint8_t KeyByte(size_t i) { return kMasked[i] ^ 0xa5; }
uint8_t DigitOfKey(size_t i) {
  return "0123456789abcdef"[i % 2 == 0 ? KeyByte(i / 2) >> 4 : KeyByte(i / 2) & 0xf];
}

struct Found {
  size_t all = 0;
  size_t dumped = 0;
};

/// Counts the addresses in this process's memory at which the sequence `byte(0)` ... `byte(bytes -
/// 1)` begins.
Found Search(size_t bytes, const std::function<uint8_t(size_t)>& byte) {
  Found found;
  for (const Mapping& mapping : Mappings()) {
    if (!mapping.writable) continue;
    const auto* at = reinterpret_cast<const uint8_t*>(mapping.begin);
    const auto* const end = reinterpret_cast<const uint8_t*>(mapping.end);
    while ((at = static_cast<const uint8_t*>(
                std::memchr(at, byte(0), static_cast<size_t>(end - at)))) != nullptr) {
      size_t same = 1;
      while (same < bytes && at + same < end && at[same] == byte(same)) ++same;
      found.all += same == bytes;
      found.dumped += same == bytes && mapping.dumped;
      if (++at == end) break;
    }
  }
  return found;
}

class KeysOfDrivers : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "AddressSanitizer reserves terabytes of memory";
#endif
    const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    for (size_t i = 0; i < 2 * kMasked.size(); ++i) {
      const uint8_t digit = DigitOfKey(i);
      ASSERT_EQ(write(file, &digit, 1), 1);
    }
    close(file);
  }
  void TearDown() override { remove(path_.c_str()); }

  const std::string path_ = testing::TempDir() + "secret-" + std::to_string(getpid());
};
INSTANTIATE_TEST_SUITE_P(, KeysOfDrivers,
                         testing::Values("crypto_openssl", "crypto_aesni_gcm", "crypto_aesni_mb"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(KeysOfDrivers, AreInTheDevicesKeySchedulesAndNowhereElse) {
  {
    Stage stage(kAesGcmStage, "file=" + path_ + ",driver=" + GetParam());
    ASSERT_TRUE(stage.made()) << stage.error();
    EXPECT_EQ(stage.Run({.input = {1}, .command = kGcmEncrypt}).how, "done");
    EXPECT_EQ(Search(2 * kMasked.size(), DigitOfKey).all, 0u) << "digits";
    // A key schedule begins with the key (FIPS 197, KeyExpansion), and there is one schedule per
    // direction. crypto_openssl also keeps the key in each session, and OpenSSL's schedules are on
    // the heap.
    const size_t on_heap = std::string_view(GetParam()) == "crypto_openssl" ? 2 : 0;
    const Found found = Search(kMasked.size(), KeyByte);
    EXPECT_GE(found.all, 1u);
    EXPECT_LE(found.all, 2 + on_heap);
    EXPECT_LE(found.dumped, on_heap);
  }
  EXPECT_EQ(Search(kMasked.size(), KeyByte).all, 0u);
}

TEST(Secret, IsInNoCoreDumpAndEndsWithItsOwner) {
  uintptr_t at = 0;
  const auto mapping = [&at] {
    for (const Mapping& one : Mappings())
      if (one.begin <= at && at < one.end) return one;
    return Mapping();
  };
  {
    Secret secret(100);
    EXPECT_EQ(secret.bytes().size(), 100u);
    at = reinterpret_cast<uintptr_t>(secret.bytes().data());
    EXPECT_TRUE(mapping().writable);
    EXPECT_FALSE(mapping().dumped);
  }
  EXPECT_EQ(mapping().end, 0u);
}

}  // namespace
}  // namespace sluice::chain_app
