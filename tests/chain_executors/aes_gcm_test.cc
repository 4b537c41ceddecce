// SPDX-License-Identifier: BSD-3-Clause
#include "aes_gcm.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <set>
#include <span>

#include "nonces.h"
#include "stage.h"

namespace sluice::chain_app {
namespace {

struct Vector {
  const char *key, *nonce, *plain, *cipher, *tag;
};

// Test cases 1 to 3, 7 to 9 and 13 to 15, which have no additional data, from "The Galois/Counter
// Mode of Operation (GCM)" (McGrew and Viega), which SP 800-38D standardized.
constexpr const char* kZero12 = "000000000000000000000000";
constexpr const char* kZero16 = "00000000000000000000000000000000";
constexpr const char* kPlain =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255";
constexpr Vector kVectors[] = {
    {kZero16, kZero12, "", "", "58e2fccefa7e3061367f1d57a4e7455a"},
    {kZero16, kZero12, kZero16, "0388dace60b6a392f328c2b971b2fe78",
     "ab6e47d42cec13bdf53a67b21257bddf"},
    {"feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888", kPlain,
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
     "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985",
     "4d5c2af327cd64a62cf35abd2ba6fab4"},
    {"000000000000000000000000000000000000000000000000", kZero12, "", "",
     "cd33b28ac773f74ba00ed1f312572435"},
    {"000000000000000000000000000000000000000000000000", kZero12, kZero16,
     "98e7247c07f0fe411c267e4384b0f600", "2ff58d80033927ab8ef4d4587514f0fb"},
    {"feffe9928665731c6d6a8f9467308308feffe9928665731c", "cafebabefacedbaddecaf888", kPlain,
     "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c"
     "7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710acade256",
     "9924a7c8587336bfb118024db8674a14"},
    {"0000000000000000000000000000000000000000000000000000000000000000", kZero12, "", "",
     "530f8afbc74536b9a963b4f1c4cb738b"},
    {"0000000000000000000000000000000000000000000000000000000000000000", kZero12, kZero16,
     "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"},
    {"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
     kPlain,
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
     "b094dac5d93471bdec1a502270e3cc6c"},
};

Bytes Join(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

class AesGcmDrivers : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, AesGcmDrivers,
                         testing::Values("crypto_openssl", "crypto_aesni_gcm", "crypto_aesni_mb"),
                         [](const auto& info) { return std::string(info.param); });

// peers_test.py decrypts the output of this implementation with another implementation.
TEST_P(AesGcmDrivers, DecryptThePublishedVectors) {
  for (const Vector& vector : kVectors) {
    SCOPED_TRACE(vector.tag);
    Stage stage(kAesGcmStage, std::string("key0=") + vector.key + ",driver=" + GetParam());
    ASSERT_TRUE(stage.made()) << stage.error();
    const Bytes nonce = FromHex(vector.nonce), plain = FromHex(vector.plain);
    const Bytes sealed = Join({nonce, FromHex(vector.cipher), FromHex(vector.tag)});
    // The output buffer has exactly the required size.
    const Ended decrypted =
        stage.Run({.input = sealed, .command = kGcmDecrypt, .room = plain.size()});
    EXPECT_EQ(decrypted.how, "done");
    EXPECT_EQ(decrypted.result, plain);
  }
}

TEST_P(AesGcmDrivers, RefuseEveryBitThatWasChangedAndLeaveNothingInPlain) {
  Stage stage(kAesGcmStage, std::string("key0=") + kVectors[2].key + ",driver=" + GetParam());
  ASSERT_TRUE(stage.made()) << stage.error();
  const Bytes sealed =
      Join({FromHex(kVectors[2].nonce), FromHex(kVectors[2].cipher), FromHex(kVectors[2].tag)});
  for (size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    Stage::Message forged{.input = sealed, .command = kGcmDecrypt};
    forged.input[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    // Honest messages before and after the forged one are not affected.
    const Stage::Message honest{.input = sealed, .command = kGcmDecrypt};
    const auto ended = stage.Run({honest, forged, honest});
    EXPECT_EQ(ended[0].result, FromHex(kPlain));
    EXPECT_EQ(ended[2].result, FromHex(kPlain));
    ASSERT_EQ(ended[1].how, "forged") << bit;
    const Bytes zeros(sealed.size() - kGcmOverhead);
    ASSERT_TRUE(std::equal(zeros.begin(), zeros.end(), ended[1].room.begin())) << bit;
  }
}

TEST_P(AesGcmDrivers, RefuseWhatWasCutAtAnyByte) {
  Stage stage(kAesGcmStage, std::string("key0=") + kVectors[2].key + ",driver=" + GetParam());
  ASSERT_TRUE(stage.made()) << stage.error();
  const Bytes sealed =
      Join({FromHex(kVectors[2].nonce), FromHex(kVectors[2].cipher), FromHex(kVectors[2].tag)});
  for (size_t length = 0; length < sealed.size(); ++length) {
    const Bytes part(sealed.begin(), sealed.begin() + static_cast<ptrdiff_t>(length));
    EXPECT_EQ(stage.Run({.input = part, .command = kGcmDecrypt}).how,
              length < 28 ? "too_short" : "forged")
        << length;
  }
}

TEST_P(AesGcmDrivers, TakeFullBatchesOfAllSizes) {
  Stage stage(kAesGcmStage, std::string("key0=") + kVectors[2].key + ",driver=" + GetParam());
  ASSERT_TRUE(stage.made()) << stage.error();
  std::vector<Stage::Message> batch;
  for (uint32_t i = 0; i < kMaxBatch; ++i)
    batch.push_back({.input = Bytes(i * 131, static_cast<uint8_t>(i)),
                     .command = kGcmEncrypt,
                     .room = i * 131 + 28});
  std::vector<Stage::Message> back;
  for (const Ended& one : stage.Run(batch)) {
    ASSERT_EQ(one.how, "done");
    back.push_back({.input = one.result, .command = kGcmDecrypt});
  }
  const auto ended = stage.Run(back);
  for (uint32_t i = 0; i < kMaxBatch; ++i) EXPECT_EQ(ended[i].result, batch[i].input);
}

TEST(AesGcm, AKeySealsForItselfAlone) {
  Stage stage(kAesGcmStage, std::string("key0=") + kZero16 + ",key3=" + kVectors[2].key);
  ASSERT_TRUE(stage.made()) << stage.error();
  const Bytes sealed =
      Join({FromHex(kVectors[2].nonce), FromHex(kVectors[2].cipher), FromHex(kVectors[2].tag)});
  EXPECT_EQ(stage.Run({.input = sealed, .command = kGcmDecrypt | 3 << 8}).result, FromHex(kPlain));
  EXPECT_EQ(stage.Run({.input = sealed, .command = kGcmDecrypt}).how, "forged");
}

TEST(AesGcm, RefusesCommandsAndRoomsThatDoNotFit) {
  Stage stage(kAesGcmStage, std::string("key0=") + kZero16);
  ASSERT_TRUE(stage.made()) << stage.error();
  const Bytes some(100);
  for (const uint32_t command :
       {0u, 3u, 0xffu, 1u | 1u << 8, 2u | 3u << 8, 1u | 4u << 8, 1u | 1u << 16, 2u | 1u << 31, ~0u})
    EXPECT_EQ(stage.Run({.input = some, .command = command}).how, "bad_command") << command;
  EXPECT_EQ(stage.Run({.input = some, .command = kGcmEncrypt, .room = 127}).how, "too_long");
  EXPECT_EQ(stage.Run({.input = some, .command = kGcmEncrypt, .room = 0}).how, "too_long");
  EXPECT_EQ(stage.Run({.input = some, .command = kGcmDecrypt, .room = 71}).how, "too_long");
  EXPECT_EQ(stage.Run({.input = Bytes(65536), .command = kGcmEncrypt, .room = 70000}).how,
            "too_long");
  EXPECT_EQ(stage.Run({.input = some, .command = kGcmEncrypt, .room = 128}).how, "done");
  EXPECT_EQ(stage.Run({.input = Bytes(65535), .command = kGcmEncrypt, .room = 70000}).how, "done");
}

// Two stages share a key. Each iteration creates both again, like a restarted process.
TEST(AesGcm, NeverEncryptsWithANonceTwice) {
  std::set<Bytes> nonces;
  for (uint32_t start = 0; start < 50; ++start) {
    std::array<Stage, 2> stages = {Stage(kAesGcmStage, std::string("key0=") + kZero16),
                                   Stage(kAesGcmStage, std::string("key0=") + kZero16)};
    for (uint32_t i = 0; i < 20; ++i) {
      for (Stage& stage : stages) {
        const Bytes sealed = stage.Run({.input = {1}, .command = kGcmEncrypt}).result;
        ASSERT_EQ(sealed.size(), 1 + kGcmOverhead);
        nonces.insert(Bytes(sealed.begin(), sealed.begin() + kGcmNonceBytes));
      }
    }
  }
  EXPECT_EQ(nonces.size(), 50u * 20 * 2);
}

TEST(Nonces, CountAndHaveAnotherFieldWhenTheCounterWraps) {
  const auto next = [](Nonces& nonces) {
    Bytes nonce(Nonces::kBytes);
    EXPECT_TRUE(nonces.Next(std::span<uint8_t, Nonces::kBytes>(nonce)));
    return std::pair(Bytes(nonce.begin(), nonce.begin() + 8),
                     Bytes(nonce.begin() + 8, nonce.end()));
  };
  Nonces nonces(0xffff'fffe);
  const auto [field, count] = next(nonces);
  EXPECT_EQ(count, (Bytes{0xff, 0xff, 0xff, 0xfe}));
  EXPECT_EQ(next(nonces), std::pair(field, Bytes{0xff, 0xff, 0xff, 0xff}));
  const auto [other, zero] = next(nonces);
  EXPECT_EQ(zero, Bytes(4));
  EXPECT_NE(other, field);
  EXPECT_EQ(next(nonces), std::pair(other, Bytes{0, 0, 0, 1}));
}

TEST(AesGcm, ReadsKeysFromAFileSoThatOptionsHoldNoSecret) {
  const std::string path = testing::TempDir() + "keys-" + std::to_string(getpid());
  std::ofstream(path) << kZero16 << "\n\n" << kVectors[2].key << "\n";
  Stage stage(kAesGcmStage, "file=" + path);
  std::remove(path.c_str());
  ASSERT_TRUE(stage.made()) << stage.error();
  const Bytes sealed =
      Join({FromHex(kVectors[2].nonce), FromHex(kVectors[2].cipher), FromHex(kVectors[2].tag)});
  EXPECT_EQ(stage.Run({.input = sealed, .command = kGcmDecrypt | 2 << 8}).result, FromHex(kPlain));
  EXPECT_EQ(stage.Run({.input = sealed, .command = kGcmDecrypt}).how, "forged");
  EXPECT_EQ(stage.Run({.input = sealed, .command = kGcmDecrypt | 1 << 8}).how, "bad_command");
  EXPECT_EQ(Stage(kAesGcmStage, "file=" + path).error(),
            "file: " + path + ": No such file or directory");
}

TEST(AesGcm, SaysWhatIsWrongWithOptions) {
  for (const auto& [options, part] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "give at least one key: key0=KEY"},
           {"key0=00", "key0: give 32, 48 or 64 hexadecimal digits"},
           {"key2=0000000000000000000000000000000g", "key2: give 32"},
           {"key4=00000000000000000000000000000000",
            "unknown option key4: give driver or file or key0"},
           {"key0=00000000000000000000000000000000,driver=crypto_null", "driver: give crypto_open"},
           {"key0=00000000000000000000000000000000,key0=00000000000000000000000000000000",
            "give key0=value, once"}}) {
    const Stage stage(kAesGcmStage, options);
    EXPECT_FALSE(stage.made()) << options;
    EXPECT_TRUE(stage.error().starts_with(part)) << stage.error();
  }
}

}  // namespace
}  // namespace sluice::chain_app
