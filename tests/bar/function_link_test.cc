// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the registers of a mapped BAR while its function disappears. Plain memory emulates the BAR.
#include "bar/function_link.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "bar/bar.h"

namespace sluice::bar {
namespace {

constexpr uint32_t kWitness = 8;

struct Function {
  alignas(8) std::array<uint32_t, 8> registers{};
  FunctionLink link{kWitness};
  Bar bar{registers.data(), sizeof(registers), &link};
};

TEST(FunctionLink, OnesInARegisterAreNoEnd) {
  Function function;
  function.registers[4] = function.registers[5] = ~0u;
  EXPECT_EQ(function.bar.Read32(16), ~0u);
  EXPECT_EQ(function.bar.Read64(16), ~uint64_t{0});
  EXPECT_TRUE(function.bar.LinkUp());
}

TEST(FunctionLink, OnesEverywhereAreTheEndForEveryCopyAndForGood) {
  Function function;
  const Bar copy = function.bar;
  function.registers.fill(~0u);
  EXPECT_TRUE(copy.LinkUp()) << "not read yet";
  EXPECT_EQ(function.bar.Read32(16), ~0u);
  EXPECT_FALSE(copy.LinkUp());
  function.registers.fill(0);
  EXPECT_EQ(function.bar.Read32(16), 0u);
  EXPECT_FALSE(function.bar.LinkUp());
}

TEST(FunctionLink, WithoutOneABarKnowsNothing) {
  Function function;
  function.registers.fill(~0u);
  Bar bar(function.registers.data(), sizeof(function.registers));
  EXPECT_EQ(bar.Read64(0), ~uint64_t{0});
  EXPECT_TRUE(bar.LinkUp());
}

}  // namespace
}  // namespace sluice::bar
