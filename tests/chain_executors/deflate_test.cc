// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "deflate_stage.h"
#include "engine/workload/random.h"
#include "stage.h"

namespace sluice::chain_app {
namespace {

// Output of printf 'hello hello hello hello\n' | gzip -n (gzip 1.12): one block with fixed codes.
constexpr const char* kHello = "1f8b0800000000000003cb48cdc9c957c84027b9000088590b18000000";
constexpr const char* kHelloText = "hello hello hello hello\n";
/// A stored block (RFC 1951, 3.2.4), marked as the last one: 3 bytes, "abc"; the CRC-32 is
/// 352441c2.
constexpr const char* kStored = "1f8b08000000000000ff010300fcff616263c241243503000000";
constexpr size_t kHeader = 10, kTrailer = 8;

class Deflate : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(stage.made()) << stage.error(); }
  Ended Inflate(const Bytes& input, size_t room = Stage::kMaxMessage) {
    return stage.Run({.input = input, .command = kDeflateDecompress, .room = room});
  }
  Ended Compress(const Bytes& input, size_t room = Stage::kMaxMessage) {
    return stage.Run({.input = input, .command = kDeflateCompress, .room = room});
  }
  Stage stage{kDeflateStage, ""};
};

TEST_F(Deflate, ReadsWhatGzipWroteIntoExactlyAsMuchRoom) {
  EXPECT_EQ(Inflate(FromHex(kHello), 24).result, FromText(kHelloText));
  EXPECT_EQ(Inflate(FromHex(kHello), 23).how, "too_long");
  EXPECT_EQ(Inflate(FromHex(kStored), 3).result, FromText("abc"));
  EXPECT_EQ(Inflate(FromHex(kStored), 2).how, "too_long");
}

TEST_F(Deflate, ReadsHeadersWithAllTheirOptionalFields) {
  const Bytes stored = FromHex(kStored);
  const Bytes body(stored.begin() + kHeader, stored.end());
  const std::string extra("\x05\0abcde", 7), name("a.txt\0", 6), comment("\0", 1), crc("xy");
  for (uint8_t flags = 0; flags < 32; ++flags) {
    Bytes member(stored.begin(), stored.begin() + kHeader);
    member[3] = flags;
    for (const auto& [flag, field] :
         {std::pair(4, extra), std::pair(8, name), std::pair(16, comment), std::pair(2, crc)})
      if ((flags & flag) != 0) member.insert(member.end(), field.begin(), field.end());
    const size_t header = member.size();
    member.insert(member.end(), body.begin(), body.end());
    EXPECT_EQ(Inflate(member).result, FromText("abc")) << int{flags};
    // A member that ends within or directly after its header is malformed.
    for (size_t length = 0; length <= header; ++length)
      EXPECT_EQ(Inflate({member.begin(), member.begin() + static_cast<ptrdiff_t>(length)}).how,
                "malformed");
  }
  for (const uint8_t reserved : {0x20, 0x40, 0x80}) {
    Bytes member = stored;
    member[3] = reserved;
    EXPECT_EQ(Inflate(member).how, "malformed");
  }
}

TEST_F(Deflate, RefusesWhatWasCutAtAnyByte) {
  const Bytes whole = FromHex(kHello);
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_EQ(Inflate({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length)}).how,
              "malformed")
        << length;
}

TEST_F(Deflate, YieldsNothingWrongWhateverBitWasChanged) {
  const Bytes whole = FromHex(kHello);
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    Bytes bent = whole;
    bent[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const Ended ended = Inflate(bent);
    const size_t byte = bit / 8;
    // Changes to the time, hints and system fields do not affect the content. Changes to the flags
    // or codes may have any outcome, but the content of an accepted member must be right.
    const char* const how = byte < 3                          ? "malformed"
                            : byte >= 4 && byte < kHeader     ? "done"
                            : byte >= whole.size() - kTrailer ? "checksum"
                                                              : ended.how.c_str();
    EXPECT_EQ(ended.how, how) << bit;
    EXPECT_EQ(ended.result, ended.how == "done" ? FromText(kHelloText) : Bytes()) << bit;
  }
}

TEST_F(Deflate, RefusesLengthsThatLie) {
  // The block is not marked as the last one, but the trailer matches the content.
  Bytes open = FromHex(kStored);
  open[kHeader] = 0;
  EXPECT_EQ(Inflate(open).how, "malformed");
  // First, the length and its complement differ; then, the length exceeds the data.
  Bytes lie = FromHex(kStored);
  lie[kHeader + 1] = 4;
  EXPECT_EQ(Inflate(lie).how, "malformed");
  lie[kHeader + 3] = 0xfb;
  EXPECT_EQ(Inflate(lie).how, "malformed");
  lie[kHeader + 1] = lie[kHeader + 2] = 0xff;
  lie[kHeader + 3] = lie[kHeader + 4] = 0;
  EXPECT_EQ(Inflate(lie).how, "malformed");
  // Trailing data or a second member is malformed.
  Bytes more = FromHex(kStored);
  more.push_back(0);
  EXPECT_EQ(Inflate(more).how, "malformed");
  const Bytes two = FromHex(std::string(kStored) + kStored);
  EXPECT_EQ(Inflate(two).how, "malformed");
  // A reserved block type is malformed.
  Bytes reserved = FromHex(kStored);
  reserved[kHeader] = 7;
  EXPECT_EQ(Inflate(reserved).how, "malformed");
}

TEST_F(Deflate, ABombGoesNoFurtherThanItsRoom) {
  const Ended bomb = Compress(Bytes(60000));
  ASSERT_EQ(bomb.how, "done");
  EXPECT_LT(bomb.result.size(), 200u);
  EXPECT_EQ(Inflate(bomb.result, 4096).how, "too_long");
  EXPECT_EQ(Inflate(bomb.result, 60000).result, Bytes(60000));
}

TEST_F(Deflate, WhatItCompressesComesBack) {
  engine::workload::Random random(1);
  for (size_t size : {0u, 1u, 2u, 63u, 64u, 1500u, 4000u, 65000u}) {
    Bytes noise(size), text(size);
    for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random.Next());
    for (uint8_t& byte : text) byte = static_cast<uint8_t>('a' + random.Below(4));
    for (const Bytes& plain : {noise, text, Bytes(size, 'x')}) {
      const Ended small = Compress(plain, 65535 + kHeader + kTrailer);
      ASSERT_EQ(small.how, "done") << size;
      EXPECT_EQ(Inflate(small.result, size).result, plain);
      // An output buffer of exactly the result's size suffices; a smaller one does not.
      EXPECT_EQ(Compress(plain, small.result.size()).result, small.result);
      EXPECT_EQ(Compress(plain, small.result.size() - 1).how, "too_long");
    }
  }
  EXPECT_EQ(Compress({1}, 17).how, "too_long");
  EXPECT_EQ(Compress({1}, 0).how, "too_long");
  EXPECT_EQ(Compress(Bytes(65536), 70000).how, "too_long");
}

TEST_F(Deflate, TriesAsHardAsTheOptionSays) {
  Bytes text;
  for (int i = 0; i < 500; ++i)
    for (const char letter : std::to_string(i * i)) text.push_back(static_cast<uint8_t>(letter));
  Stage fast(kDeflateStage, "level=1");
  Stage best(kDeflateStage, "level=9");
  ASSERT_TRUE(fast.made() && best.made());
  const Stage::Message message{.input = text, .command = kDeflateCompress};
  EXPECT_GT(fast.Run(message).result.size(), best.Run(message).result.size());
}

TEST_F(Deflate, SaysWhatIsWrong) {
  for (const uint32_t command : {0u, 3u, 257u, ~0u})
    EXPECT_EQ(stage.Run({.input = FromHex(kHello), .command = command}).how, "bad_command");
  EXPECT_EQ(Stage(kDeflateStage, "level=0").error(), "level: give 1 to 9");
  EXPECT_EQ(Stage(kDeflateStage, "level=10").error(), "level: give 1 to 9");
  EXPECT_EQ(Stage(kDeflateStage, "level=6x").error(), "level: give 1 to 9");
  EXPECT_EQ(Stage(kDeflateStage, "window=9").error(), "unknown option window: give level");
}

}  // namespace
}  // namespace sluice::chain_app
