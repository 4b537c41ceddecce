// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the format of a 64-byte line, and tests that lines that an honest peer never posts have no
// effect.
#include <gtest/gtest.h>

#include <random>

#include "hostile_lines.h"
#include "swap/initiator.h"
#include "swap/responder.h"

namespace sluice::swap {
namespace {

TEST(Line, EncodesAsDocumented) {
  const Message message{.txid = 0x11223344,
                        .epoch = 0x5566,
                        .phase = Phase::kOffer,
                        .flags = kStanding,
                        .peer_incarnation = 0x778899aa,
                        .binding = 0xb,
                        .key = 0x0102030405060708,
                        .payload = {1, 2, 3, ~uint64_t{0}},
                        .incarnation = 0xccddeeff};
  const bar::Line golden = {
      {0xb1'03'5566'11223344, 0xb'778899aa, 0x0102030405060708, 1, 2, 3, ~uint64_t{0}, 0xccddeeff}};
  EXPECT_EQ(Encode(message), golden);
  EXPECT_EQ(Decode(golden), message);
}

TEST(Line, LeavesTheWindowItsHalfOfTheLastWord) {
  bar::Line line = Encode({.phase = Phase::kIdle, .peer_incarnation = 1, .incarnation = 2});
  const Message before = Decode(line);
  line.word[7] |= uint64_t{0xdeadbeef} << 32;
  EXPECT_EQ(Decode(line), before);
}

TEST(Line, PhasesHaveTheirNumbers) {
  EXPECT_EQ(static_cast<int>(Phase::kNone), 0);
  EXPECT_EQ(static_cast<int>(Phase::kSync), 1);
  EXPECT_EQ(static_cast<int>(Phase::kIdle), 2);
  EXPECT_EQ(static_cast<int>(Phase::kAbort), 6);
  EXPECT_EQ(static_cast<int>(Phase::kReady), 7);
  EXPECT_EQ(static_cast<int>(Phase::kRejected), 10);
}

TEST(Line, WhatNoEndPostsIsNoLine) {
  EXPECT_EQ(Decode(bar::Line{}).phase, Phase::kNone);
  bar::Line ones;
  ones.word.fill(~uint64_t{0});
  EXPECT_EQ(Decode(ones).phase, Phase::kNone);
  for (uint64_t phase = kLastPhase + 1; phase < 256; ++phase) {
    EXPECT_EQ(Decode({{phase << 48, 1, 0, 0, 0, 0, 0, 1}}).phase, Phase::kNone);
  }
  // A line without a known peer is valid only from an end that lost its state.
  EXPECT_EQ(Decode({{3ull << 48, 0, 0, 0, 0, 0, 0, 1}}).phase, Phase::kNone);
}

TEST(Line, CutAtAMeetingIsMeantForNobody) {
  const Message before{
      .txid = 7, .phase = Phase::kOffer, .peer_incarnation = 1, .binding = 3, .incarnation = 1};
  Message after = before;
  after.phase = Phase::kIdle;
  after.peer_incarnation = 2;
  after.binding = 4;
  bar::Line cut = Encode(after);
  cut.word[0] = Encode(before).word[0];
  EXPECT_EQ(Decode(cut).phase, Phase::kOffer);
  EXPECT_EQ(Decode(cut).peer_incarnation, 0u);
  EXPECT_TRUE(Resumable(Decode(cut)));
  EXPECT_FALSE(Resumable(Decode(bar::Line{})));
}

/// Exchanges lines three times. Afterwards, the initiator has no open transaction. An answer that
/// was held is committed.
void Finish(test::ConnectedPair& pair) {
  for (int round = 0; round < 3; ++round) {
    pair.responder.Hear(pair.initiator.line(), pair);
    pair.initiator.Hear(pair.responder.line());
    if (pair.initiator.state() == State::kValidate) pair.initiator.Commit();
  }
}

/// Brings the initiator to a state in which it waits for its peer.
void Reach(test::ConnectedPair& pair, State state) {
  pair.initiator.MakeOffer({});
  if (state == State::kCancel) pair.initiator.Cancel();
  if (state != State::kCommit && state != State::kAbort) return;
  pair.responder.Hear(pair.initiator.line(), pair);
  pair.initiator.Hear(pair.responder.line());
  if (state == State::kCommit) pair.initiator.Commit();
  if (state == State::kAbort) pair.initiator.Abort();
}

TEST(Ends, OneThatExpiredOffersAgainOnceItsTransactionHasEnded) {
  const struct {
    const Machine& machine;
    State waits;
  } kCases[] = {{kTwoMessage, State::kOffer},   {kTwoMessage, State::kCancel},
                {kFourMessage, State::kOffer},  {kFourMessage, State::kCancel},
                {kFourMessage, State::kCommit}, {kFourMessage, State::kAbort}};
  for (const auto& [machine, waits] : kCases) {
    SCOPED_TRACE(static_cast<int>(waits));
    test::ConnectedPair pair(machine);
    Reach(pair, waits);
    ASSERT_EQ(pair.initiator.state(), waits);
    const bool holds = pair.responder.state() == State::kTentative;
    pair.initiator.Expire();
    pair.responder.Expire();
    EXPECT_TRUE(pair.initiator.suspect());
    EXPECT_EQ(pair.responder.suspect(), holds) << "nobody else waits";
    EXPECT_EQ(pair.initiator.state(), waits) << "suspicion decides nothing";
    Finish(pair);
    EXPECT_EQ(pair.initiator.state(), State::kIdle);
    EXPECT_FALSE(pair.initiator.suspect());
    EXPECT_FALSE(pair.responder.suspect());
    EXPECT_TRUE(pair.initiator.CanOffer());
    pair.initiator.MakeOffer({});
    EXPECT_EQ(pair.initiator.txid(), 2u);
  }
}

// An initiator offers the next transaction and advances only after an answer. Its line shows the
// last answered transaction, or the next one that it offered or cancelled.
TEST(Ends, AnInitiatorThatIsTooFarAheadIsAFaultOfTheLink) {
  for (const Machine& machine : {kTwoMessage, kFourMessage}) {
    for (const bool held : {false, true}) {
      if (held && machine.variant() == Variant::kTwoMessage) continue;
      for (const Phase phase :
           {Phase::kIdle, Phase::kOffer, Phase::kCancel, Phase::kCommit, Phase::kAbort}) {
        for (const int ahead : {-1, 0, 1, 2}) {
          test::ConnectedPair pair(machine, 5);
          if (held) {
            pair.initiator.MakeOffer({});
            ASSERT_EQ(pair.responder.Hear(pair.initiator.line(), pair), Event::kHeld);
          }
          Message line = pair.initiator.line();
          line.txid = pair.responder.txid() + static_cast<uint32_t>(ahead);
          line.phase = phase;
          pair.responder.Hear(line, pair);
          const bool offers = phase == Phase::kOffer || phase == Phase::kCancel;
          EXPECT_EQ(pair.responder.faulted(), ahead == 2 || (ahead == 1 && !offers))
              << "held " << held << ", " << ahead << " ahead, phase " << static_cast<int>(phase);
        }
      }
    }
  }
}

// A responder answers only offered transactions.
TEST(Ends, AResponderThatIsAheadIsAFaultOfTheLink) {
  for (const State state : {State::kIdle, State::kOffer, State::kCancel}) {
    for (const Phase phase : {Phase::kReady, Phase::kCommitted, Phase::kRejected}) {
      for (const int ahead : {-1, 0, 1, 2}) {
        test::ConnectedPair pair(kTwoMessage, 5);
        if (state != State::kIdle) Reach(pair, state);
        ASSERT_EQ(pair.initiator.state(), state);
        Message line = pair.responder.line();
        line.txid = pair.initiator.txid() + static_cast<uint32_t>(ahead);
        line.phase = phase;
        EXPECT_EQ(pair.initiator.Hear(line).has_value(),
                  ahead == 0 && phase != Phase::kReady && state != State::kIdle);
        EXPECT_EQ(pair.initiator.faulted(), ahead > 0)
            << static_cast<int>(state) << ", " << ahead << " ahead";
      }
    }
  }
}

TEST(Ends, TransactionIdsWrap) {
  test::ConnectedPair pair(kTwoMessage, ~uint32_t{0} - 2);
  for (int swap = 0; swap < 6; ++swap) EXPECT_TRUE(pair.Swap()) << swap;
  EXPECT_EQ(pair.initiator.txid(), 3u);
}

// Uses honest lines with up to three replaced bytes, and some lines of random words.
TEST(Ends, NoHostileLineResolvesAnythingWrongly) {
  std::mt19937_64 random(7);
  std::array<uint8_t, 1024> bytes;
  uint64_t results = 0, answers = 0;
  for (int round = 0; round < 20'000; ++round) {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    // Small bytes preserve the phase of a line. A random phase already fails the first check.
    if (round % 2 == 0) {
      for (size_t i = 0; i < bytes.size(); i += 4) bytes[i] &= 7;
    }
    const test::RunResult heard = test::RunHostileLines(bytes.data(), bytes.size());
    ASSERT_EQ(heard.broken, nullptr);
    results += heard.results;
    answers += heard.answers;
  }
  // The test is meaningful only if many lines could have been honest.
  EXPECT_GT(results, 5'000u);
  EXPECT_GT(answers, 5'000u);
}

}  // namespace
}  // namespace sluice::swap
