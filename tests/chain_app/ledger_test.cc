// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that each message has one outcome and that surplus answers are classified.
#include "ledger.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>

namespace sluice::chain_app {
namespace {

/// Each message is one byte that contains its number; the right answer is the same byte. Every
/// tenth message must be refused.
class Byte final : public Traffic {
 public:
  uint32_t Write(uint64_t number, std::span<uint8_t> room) override {
    room[0] = static_cast<uint8_t>(number);
    return 1;
  }
  bool Right(uint64_t number, std::span<const uint8_t> answer,
             const std::array<uint32_t, 2>&) override {
    return answer.size() == 1 && answer[0] == static_cast<uint8_t>(number);
  }
  bool Answered(uint64_t number) const override { return number % 10 != 9; }
};

class LedgerTest : public testing::Test {
 protected:
  void Send(uint32_t count, uint64_t now) {
    for (uint32_t i = 0; i < count; ++i) {
      ASSERT_TRUE(ledger_.MayBegin());
      uint32_t number = 0;
      std::array<uint8_t, 4> room{};
      EXPECT_EQ(ledger_.Begin(room, now, &number), 1u);
    }
  }
  void Answer(uint32_t number, uint8_t with, uint32_t where = 1, uint64_t now = 50) {
    ledger_.Answer(number, where, {&with, 1}, {}, now);
  }

  Ledger ledger_{std::make_unique<Byte>(), 4, 20, 100, 1000};
};

TEST_F(LedgerTest, CountsEachMessageOnce) {
  Send(10, 0);
  Answer(0, 0);     // Right.
  Answer(0, 0);     // Doubled.
  Answer(0, 0, 2);  // Another node of the chain answers.
  Answer(1, 7);     // Wrong.
  Answer(9, 9);     // An answer to a message that had to be refused counts as wrong.
  Answer(77, 77);   // Answers a message that was never sent.
  ledger_.Expire(99);
  EXPECT_EQ(ledger_.Now().lost, 0u);
  ledger_.Expire(100);
  Answer(5, 5, 1, 120);  // Late.
  const Endings endings = ledger_.Now();
  EXPECT_EQ(endings.sent, 10u);
  EXPECT_EQ(endings.right, 1u);
  EXPECT_EQ(endings.wrong, 2u);
  EXPECT_EQ(endings.silent, 0u);
  EXPECT_EQ(endings.lost, 7u);
  EXPECT_EQ(endings.ended(), endings.sent);
  EXPECT_EQ(endings.doubled, 1u);
  EXPECT_EQ(endings.copies, 1u);
  EXPECT_EQ(endings.late, 1u);
  EXPECT_EQ(endings.unknown, 1u);
  EXPECT_EQ(ledger_.latency().count(), 1u);
  EXPECT_EQ(ledger_.latency().max(), 50u);
}

TEST_F(LedgerTest, AWrongAnswerBesideARightOneEndsTheMessageWrongAndOnce) {
  Send(10, 0);
  Answer(0, 0);
  Answer(0, 7, 2);  // Another node answers.
  Answer(0, 8, 3);
  Answer(9, 9);  // An answer to a message that had to be refused counts as wrong.
  Answer(9, 8, 2);
  const Endings endings = ledger_.Now();
  EXPECT_EQ(endings.right, 0u);
  EXPECT_EQ(endings.wrong, 2u);
  EXPECT_EQ(endings.silent, 0u);
  EXPECT_EQ(endings.ended(), 2u);
}

TEST_F(LedgerTest, WhatMustBeRefusedIsNotWaitedFor) {
  Send(22, 0);  // Two messages must be refused, so twenty are outstanding.
  EXPECT_FALSE(ledger_.MayBegin());
  Answer(3, 3);
  EXPECT_TRUE(ledger_.MayBegin());
  EXPECT_EQ(ledger_.Now().silent, 2u);
}

TEST_F(LedgerTest, StopsAtItsLastMessage) {
  for (uint32_t number = 0; number < 1000; ++number) {
    Send(1, number);
    if (number % 10 != 9) Answer(number, static_cast<uint8_t>(number), 1, number);
  }
  EXPECT_FALSE(ledger_.MayBegin());
  EXPECT_EQ(ledger_.Now().right, 900u);
}

}  // namespace
}  // namespace sluice::chain_app
