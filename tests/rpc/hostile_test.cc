// SPDX-License-Identifier: BSD-3-Clause
//
// Tests truncated, inconsistent and oversized values, and tables that the compiler did not
// generate. Memory has the exact size, so that AddressSanitizer detects overruns.
#include <gtest/gtest.h>

#include <random>

#include "compiled.h"
#include "hostile_table.h"
#include "packet/fixtures.h"
#include "random_wire.h"
#include "rpc/marshal.h"
#include "rpc/unmarshal.h"
#include "rpc/x_compiler.h"
#include "x_samples.h"

namespace sluice::rpc {
namespace {

using test::Bytes;

constexpr uint64_t kBase = 0x1000;

const CompiledX& Everything() {
  static const CompiledX x = test::Compiled(test::kEverythingX);
  return x;
}

Unmarshalled Read(uint32_t type, const Bytes& wire, uint32_t room, Bytes* memory = nullptr) {
  const test::ExactBuffer from(wire), to(Bytes(room, 0xee));
  const auto read = Unmarshal(Everything().table, type, from.data(), from.size(),
                              {.memory = to.data(), .bytes = room, .base = kBase});
  if (memory != nullptr) *memory = to.bytes();
  return read;
}
Marshalled Write(uint32_t type, const Bytes& memory, uint32_t room) {
  const test::ExactBuffer from(memory), to(Bytes(room, 0xee));
  return Marshal(Everything().table, type, Source::Prepared(from.data(), from.size(), kBase),
                 to.data(), room);
}

TEST(Hostile, CutAtEveryByteAndInTooLittleRoom) {
  std::mt19937_64 random(1);
  test::RandomWire values(Everything().table, random);
  for (const auto& [name, type] : Everything().types) {
    SCOPED_TRACE(name);
    for (int round = 0; round < 8; ++round) {
      const Bytes wire = values.Of(type);
      Bytes memory;
      const auto whole = Read(type, wire, 20'000, &memory);
      ASSERT_EQ(whole.error, UnmarshalError::kNone);
      ASSERT_EQ(whole.wire_bytes, wire.size());
      for (size_t bytes = 0; bytes < wire.size(); ++bytes) {
        ASSERT_EQ(Read(type, Bytes(wire.begin(), wire.begin() + bytes), 20'000).error,
                  UnmarshalError::kGarbage);
      }
      memory.resize(whole.bytes);
      const auto bytes = static_cast<uint32_t>(wire.size());
      ASSERT_EQ(Write(type, memory, bytes).error, MarshalError::kNone);
      for (uint32_t less = 1; less <= 40 && less <= bytes; ++less) {
        ASSERT_EQ(Write(type, memory, bytes - less).error, MarshalError::kNoRoom);
      }
      for (uint32_t less = 1; less <= 40 && less <= whole.bytes; ++less) {
        ASSERT_EQ(Read(type, wire, whole.bytes - less).error, UnmarshalError::kNoRoom);
      }
    }
  }
}

TEST(Hostile, StructuresWithAnyBytes) {
  std::mt19937_64 random(2);
  test::RandomWire values(Everything().table, random);
  int refused = 0;
  for (const auto& [name, type] : Everything().types) {
    for (int round = 0; round < 300; ++round) {
      Bytes memory;
      const auto whole = Read(type, values.Of(type), 20'000, &memory);
      memory.resize(whole.bytes);
      for (uint64_t edits = 1 + random() % 4; edits != 0; --edits) {
        memory[random() % memory.size()] = static_cast<uint8_t>(random());
      }
      refused += Write(type, memory, 4096).error != MarshalError::kNone;
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(Hostile, TablesAreUsedIfTheyAreSound) {
  std::mt19937_64 random(3);
  int sound = 0;
  for (int round = 0; round < 20'000; ++round) {
    Bytes choices(64);
    for (uint8_t& choice : choices) choice = static_cast<uint8_t>(random());
    sound += test::UseTable(Everything().table, choices);
  }
  EXPECT_GT(sound, 200);
  EXPECT_LT(sound, 19'800);
}

TEST(Hostile, WhatMakesATableUnsound) {
  const struct {
    const char* what;
    void (*change)(Table&);
  } kCases[] = {
      {"too many arms", [](Table& t) { t.arms.resize(Limits::kMaxArms + 1); }},
      {"no types", [](Table& t) { t.types.clear(); }},
      {"no end", [](Table& t) { t.steps.pop_back(); }},
      {"no arms", [](Table& t) { t.arms.clear(); }},
      {"void with bytes", [](Table& t) { t.types[kVoidType].bytes = 4; }},
      {"an alignment of 3", [](Table& t) { t.types.back().alignment = 3; }},
      {"steps of another type", [](Table& t) { ++t.types.back().first_step; }},
      {"an argument beyond the types",
       [](Table& t) { t.procedures[0].arguments = static_cast<uint32_t>(t.types.size()); }},
      {"a step beyond its structure", [](Table& t) { t.steps[1].at = 1 << 20; }},
      {"a count beyond its structure", [](Table& t) { t.steps[1].count = 1 << 30; }},
  };
  for (const auto& c : kCases) {
    Table table = Everything().table;
    ASSERT_TRUE(table.IsSound());
    c.change(table);
    EXPECT_FALSE(table.IsSound()) << c.what;
  }
}

}  // namespace
}  // namespace sluice::rpc
