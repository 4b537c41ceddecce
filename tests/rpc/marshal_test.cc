// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/marshal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "compiled.h"
#include "packet/fixtures.h"
#include "rpc/unmarshal.h"
#include "rpc/x_compiler.h"
#include "x_samples.h"

namespace sluice::rpc {
namespace {

using test::Bytes;
using test::FromHex;

/// Marshals and unmarshals values of the type named `t`.
class Codec {
 public:
  explicit Codec(std::string_view text, const char* name = "t")
      : x_(test::Compiled(text)), type_(x_.types.find(name)->second) {}

  /// Unmarshals to memory of exactly `room` bytes that contains old data.
  Unmarshalled Read(const Bytes& wire, uint32_t room, Bytes* memory, uint64_t base = 0) const {
    const test::ExactBuffer from(wire), to(Bytes(room, 0xee));
    const auto read = Unmarshal(x_.table, type_, from.data(), from.size(),
                                {.memory = to.data(), .bytes = room, .base = base});
    if (memory != nullptr) *memory = to.bytes();
    return read;
  }
  Marshalled Write(const Bytes& memory, uint32_t room, Bytes* wire, uint64_t base = 0) const {
    const test::ExactBuffer from(memory), to(Bytes(room, 0xee));
    const auto written =
        Marshal(x_.table, type_, Source::Prepared(from.data(), from.size(), base), to.data(), room);
    if (wire != nullptr) *wire = to.bytes(std::min(written.bytes, room));
    return written;
  }

 private:
  CompiledX x_;
  uint32_t type_;
};

// RFC 4506 section 7: John's file "sillyprog", a Lisp program with the contents "(quit)".
const Bytes kFile = FromHex(
    "0000000973696c6c7970726f67000000"
    "00000002"
    "000000046c697370"
    "000000046a6f686e"
    "000000062871756974290000");

// The memory contains the filename's pointer; the kind, 4 bytes of padding and the arm's pointer;
// the owner's pointer; and the data's length, padding and pointer. The data that the pointers refer
// to follows in wire order.
const Bytes kPreparedFile = FromHex(
    "3000000000000000"
    "0200000000000000"
    "3a00000000000000"
    "3f00000000000000"
    "0600000000000000"
    "4400000000000000"
    "73696c6c7970726f6700"
    "6c69737000"
    "6a6f686e00"
    "287175697429");

TEST(Marshal, ReadsAndWritesTheExampleOfTheRfc) {
  const Codec file(test::kFileX, "file");
  Bytes memory, wire;
  const auto read = file.Read(kFile, 74, &memory);
  ASSERT_EQ(read.error, UnmarshalError::kNone);
  EXPECT_EQ(read.wire_bytes, kFile.size());
  EXPECT_EQ(read.bytes, 74);
  EXPECT_EQ(memory, kPreparedFile);
  ASSERT_EQ(file.Write(memory, 48, &wire).error, MarshalError::kNone);
  EXPECT_EQ(wire, kFile);
  // With one byte less of input or memory, there must be an error.
  for (uint32_t bytes = 0; bytes < kFile.size(); ++bytes) {
    const Bytes cut(kFile.begin(), kFile.begin() + bytes);
    EXPECT_EQ(file.Read(cut, 74, nullptr).error, UnmarshalError::kGarbage) << bytes;
  }
  for (uint32_t room = 0; room < 74; ++room) {
    EXPECT_EQ(file.Read(kFile, room, nullptr).error, UnmarshalError::kNoRoom) << room;
  }
  for (uint32_t room = 0; room < 48; ++room) {
    EXPECT_EQ(file.Write(kPreparedFile, room, nullptr).error, MarshalError::kNoRoom) << room;
  }
  const uint64_t base = 0x7fff'ffff'0000;
  ASSERT_EQ(file.Read(kFile, 80, &memory, base).error, UnmarshalError::kNone);
  EXPECT_EQ(packet::Load<uint64_t>(memory.data()), base + 0x30);
  EXPECT_EQ(memory[74], 0xee);
  ASSERT_EQ(file.Write(memory, 48, &wire, base).error, MarshalError::kNone);
  EXPECT_EQ(wire, kFile);
}

TEST(Marshal, ChecksEveryLimit) {
  constexpr auto kOk = UnmarshalError::kNone;
  constexpr auto kGarbage = UnmarshalError::kGarbage;
  const struct {
    const char* type;
    const char* wire;
    UnmarshalError error;
    uint32_t wire_bytes;
  } kCases[] = {
      {"typedef int t;", "00000001", kOk, 4},
      {"typedef int t;", "0000000100000002", kOk, 4},
      {"typedef hyper t;", "00000000000000", kGarbage, 0},
      {"typedef bool t;", "00000000", kOk, 4},
      {"typedef opaque t[3];", "61626300", kOk, 4},
      {"typedef opaque t[3];", "616263ff", kOk, 4},  // The content of padding is ignored.
      {"typedef opaque t[3];", "616263", kGarbage, 0},
      {"typedef opaque t<3>;", "0000000361626300", kOk, 8},
      {"typedef opaque t<3>;", "0000000461626364", kGarbage, 0},
      {"typedef opaque t<>;", "ffffffff61626364", kGarbage, 0},
      {"typedef opaque t<>;", "fffffffd61626364", kGarbage, 0},
      {"typedef opaque t<>;", "00000005616263646566", kGarbage, 0},
      {"typedef string t<3>;", "00000000", kOk, 4},
      {"typedef string t<3>;", "0000000361626300", kOk, 8},
      {"typedef string t<3>;", "0000000461626364", kGarbage, 0},
      {"typedef string t<>;", "ffffffff", kGarbage, 0},
      {"typedef int t<2>;", "000000020000000100000002", kOk, 12},
      {"typedef int t<2>;", "00000003000000010000000200000003", kGarbage, 0},
      {"typedef int t<>;", "4000000100000001", kGarbage, 0},  // 2^32 + 4 bytes.
      {"typedef hyper t<>;", "200000010000000000000001", kGarbage, 0},
      {"typedef string t0<>; typedef t0 t<>;",
       "00000002"
       "00000000"
       "00000000",
       kOk, 12},
      {"typedef string t0<>; typedef t0 t<>;",
       "ffffffff"
       "00000000"
       "00000000",
       kGarbage, 0},
      {"typedef int *t;", "00000000", kOk, 4},
      {"typedef int *t;", "0000000100000007", kOk, 8},
      {"typedef int *t;", "00000001", kGarbage, 0},
      {"union t switch (int k) { case 1: int x; };", "0000000100000007", kOk, 8},
      {"union t switch (int k) { case 1: int x; };", "00000002", kGarbage, 0},
      {"union t switch (int k) { case -1: int x; default: void; };", "ffffffff00000007", kOk, 8},
      {"union t switch (int k) { case -1: int x; default: void; };", "00000007", kOk, 4},
      {"union t switch (bool k) { case TRUE: int x; case FALSE: void; };", "0000000200000007", kOk,
       8},
  };
  for (const auto& c : kCases) {
    const auto read = Codec(c.type).Read(FromHex(c.wire), 64, nullptr);
    EXPECT_EQ(read.error, c.error) << c.type << " " << c.wire;
    EXPECT_EQ(c.error == kOk ? read.wire_bytes : 0, c.wire_bytes) << c.type << " " << c.wire;
  }
}

TEST(Marshal, LeavesNothingOfWhatWasThere) {
  Bytes memory;
  Codec("struct t { int a; hyper b; opaque c[3]; };")
      .Read(FromHex("0000000100000000000000026162630000"), 24, &memory);
  EXPECT_EQ(memory, FromHex("01000000000000000200000000000000"
                            "6162630000000000"));
  Codec("struct s { hyper a; int b; }; struct t { s x<>; };")
      .Read(FromHex("00000001000000000000000300000004"), 32, &memory);
  EXPECT_EQ(memory, FromHex("01000000000000001000000000000000"
                            "03000000000000000400000000000000"));
  Codec("union t switch (int k) { case 1: hyper a; case 2: int b; };")
      .Read(FromHex("0000000200000004"), 16, &memory);
  EXPECT_EQ(memory, FromHex("02000000000000000400000000000000"));
}

/// A list may have any length if the pointer to the next node is the last member. Otherwise, each
/// node adds a level of depth.
TEST(Marshal, ListsAreAsLongAsTheirMessage) {
  const char* const kList = "struct t { int value; t *next; };";
  const char* const kNotLast = "struct t { t *next; int value; };";
  Bytes list, not_last;
  const auto append = [](Bytes& to, uint32_t word) {
    to.resize(to.size() + 4);
    packet::StoreBe32(&to[to.size() - 4], word);
  };
  for (uint32_t i = 0; i < 5000; ++i) append(list, i), append(list, i != 4999);
  Bytes memory, wire;
  ASSERT_EQ(Codec(kList).Read(list, 80'000, &memory).error, UnmarshalError::kNone);
  ASSERT_EQ(Codec(kList).Write(memory, 40'000, &wire).error, MarshalError::kNone);
  EXPECT_EQ(wire, list);
  // 64 levels below the first are permitted; 65 are not.
  for (const uint32_t levels : {64, 65}) {
    not_last.clear();
    for (uint32_t i = 0; i < levels; ++i) append(not_last, 1);
    append(not_last, 0);
    for (uint32_t i = 0; i <= levels; ++i) append(not_last, i);
    const auto read = Codec(kNotLast).Read(not_last, 4096, &memory);
    EXPECT_EQ(read.error, levels == 64 ? UnmarshalError::kNone : UnmarshalError::kTooDeep);
    if (levels == 65) continue;
    EXPECT_EQ(Codec(kNotLast).Write(memory, 4096, &wire).error, MarshalError::kNone);
  }
}

TEST(Marshal, BelievesNoPointerOfAService) {
  const char* const kList = "struct t { int value; t *next; };";
  const struct {
    const char* type;
    const char* memory;  ///< Pointers are relative to 0x1000.
    MarshalError error;
  } kCases[] = {
      {"typedef string t<3>;", "08100000000000006162630000", MarshalError::kNone},
      {"typedef string t<3>;", "08100000000000006162636400", MarshalError::kTooLong},
      {"typedef string t<3>;", "08100000000000006162", MarshalError::kTooLong},
      {"typedef string t<>;", "08100000000000006162636465", MarshalError::kTooLong},
      {"typedef string t<>;", "0810000000000000", MarshalError::kBadPointer},
      {"typedef string t<>;", "0000000000000000", MarshalError::kBadPointer},
      {"typedef string t<>;", "ff0f00000000000000", MarshalError::kBadPointer},
      {"typedef string t<>;", "ffffffffffffffff00", MarshalError::kBadPointer},
      {"typedef opaque t<4>;",
       "0000000000000000"
       "0000000000000000",
       MarshalError::kNone},
      {"typedef opaque t<4>;",
       "0100000000000000"
       "0000000000000000",
       MarshalError::kBadPointer},
      {"typedef opaque t<4>;",
       "0400000000000000"
       "1010000000000000"
       "61626364",
       MarshalError::kNone},
      {"typedef opaque t<4>;",
       "0400000000000000"
       "1110000000000000"
       "61626364",
       MarshalError::kBadPointer},
      {"typedef opaque t<4>;",
       "0500000000000000"
       "1010000000000000"
       "6162636465",
       MarshalError::kTooLong},
      {"typedef int t<>;",
       "ffffffff00000000"
       "1010000000000000"
       "01000000",
       MarshalError::kBadPointer},
      {"typedef int *t;",
       "0810000000000000"
       "010000",
       MarshalError::kBadPointer},
      {"typedef int *t;",
       "0710000000000000"
       "01000000",
       MarshalError::kNone},  // Misaligned.
      {"typedef int t[2];", "01000000020000", MarshalError::kBadPointer},
      {"union t switch (int k) { case 1: int x; };", "0200000000000000", MarshalError::kNoArm},
      {kList,
       "0100000000000000"
       "0010000000000000",
       MarshalError::kNoRoom},  // The node points to itself.
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Codec(c.type).Write(FromHex(c.memory), 1000, nullptr, 0x1000).error, c.error)
        << c.type << " " << c.memory;
  }
}

}  // namespace
}  // namespace sluice::rpc
