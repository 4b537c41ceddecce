// SPDX-License-Identifier: BSD-3-Clause
//
// Rules of RFC 9293 (TCP) and RFC 2018 (selective acknowledgements) for the handshake, received
// segments, closing and time-outs. Each test names the sections that it checks.
#include "script.h"

namespace sluice::transport {
namespace {

// ---- Handshake ----

TEST(Handshake, SynAckAnswersASyn) {  // RFC 9293 sections 3.5, 3.7.1 (MUST-14, SHLD-5).
  Script script;
  script.Send(kSyn, 0, 0, "", MssOption(kMss));
  const Segment answer = script.Only();
  EXPECT_TRUE(Is(answer, kSyn | kAck, 0, 1));
  EXPECT_EQ(Option(answer, 2), MssOption(1460).substr(2));
  // RFC 7323 section 2.2, RFC 2018 section 2: options that the SYN did not contain are not sent.
  EXPECT_EQ(Option(answer, 3), "-");
  EXPECT_EQ(Option(answer, 4), "-");
  EXPECT_EQ(answer.window, 0xffffu);
  EXPECT_EQ(script.opened, 0);
}

TEST(Handshake, OptionsAreAgreed) {  // RFC 7323 section 2.2, RFC 2018 section 2.
  Script script;
  script.Open(MssOption(kMss) + ScaleOption(2) + SackPermitted());
  EXPECT_EQ(Option(script.syn_ack, 3), std::string{3});
  EXPECT_EQ(Option(script.syn_ack, 4), "");
  EXPECT_EQ(script.syn_ack.window, 0xffffu);  // The window of a SYN is not scaled.
  script.Send(kAck, 1, 1, Text(1, 100));
  script.Run(0.5);
  const uint32_t window = script.Only().window;
  EXPECT_GE(window, (Stack::kWindowBytes - 100) >> 3);
  EXPECT_LE(window, Stack::kWindowBytes >> 3);
}

TEST(Handshake, UnknownOptionsAreIgnored) {  // RFC 9293 section 3.1 (MUST-6, MUST-7).
  for (const std::string& options :
       {std::string{77, 4, 1, 2} + MssOption(1000), std::string{1, 1, 1, 1} + MssOption(1000)}) {
    Script script;
    script.Open(options);
    script.Write(1500);
    EXPECT_EQ(script.Sent()[0].data.size(), 1000u);
  }
  for (const std::string& options : {std::string{77, 0, 1, 2}, std::string{77, 40, 1, 2}}) {
    Script script;
    script.Open(options);
  }
}

TEST(Handshake, TheDefaultMssIs536) {  // RFC 9293 section 3.7.1 (MUST-15).
  Script script;
  script.Open("");
  script.Write(5000);
  EXPECT_EQ(script.Sent()[0].data.size(), 536u);
}

TEST(Handshake, TheInitialWindowDependsOnTheMss) {  // RFC 5681 section 3.1.
  const std::pair<uint32_t, size_t> cases[] = {{1460, 3}, {1096, 3}, {1095, 4}, {536, 4}};
  for (const auto& [mss, segments] : cases) {
    Script script;
    script.Open(MssOption(mss));
    script.Write(20'000);
    EXPECT_LE(script.Sent().size(), segments) << mss;
  }
  Script script;
  script.Open();
  script.Write(20'000);
  EXPECT_EQ(script.Sent().size(), 3u);
}

TEST(Handshake, ASynIsRepeated) {  // RFC 9293 section 3.8.1, RFC 6298 section 2.1.
  Script script;
  script.Connect();
  const Segment first = script.Only();
  const Segment again = script.Next(10);
  EXPECT_EQ(again.flags, kSyn);
  EXPECT_EQ(again.seq, 0u);
  EXPECT_GE(again.time - first.time, 0.9);  // The time-out is 1 s or more.
}

TEST(Handshake, ASynAckIsRepeatedWithBackOff) {  // RFC 6298 sections 2.1, 5.5.
  Script script;
  script.Send(kSyn, 0, 0);
  const Segment first = script.Only(), second = script.Next(10), third = script.Next(20);
  EXPECT_TRUE(Is(second, kSyn | kAck, 0, 1));
  EXPECT_TRUE(Is(third, kSyn | kAck, 0, 1));
  EXPECT_GE(second.time - first.time, 0.9);
  EXPECT_NEAR(third.time - second.time, 2 * (second.time - first.time), 0.25);
}

TEST(Handshake, ARepeatedSynIsAnsweredAgain) {  // RFC 9293 section 3.10.7.4, first step.
  Script script;
  script.Send(kSyn, 0, 0);
  script.Sent();
  script.Send(kSyn, 0, 0);
  const Segment answer = script.Only();
  EXPECT_TRUE(answer.Has(kAck));
  EXPECT_EQ(answer.ack, 1u);
  script.Send(kAck, 1, 1);
  EXPECT_EQ(script.opened, 1);
}

TEST(Handshake, AWrongAckOfASynAckIsReset) {  // RFC 9293 section 3.10.7.4, SYN-RECEIVED.
  for (const uint32_t ack : {0u, 2u}) {
    Script script;
    script.Send(kSyn, 0, 0);
    script.Sent();
    script.Send(kAck, 1, ack);
    const Segment answer = script.Only();
    EXPECT_TRUE(answer.Has(kRst));
    EXPECT_EQ(answer.seq, ack);
    EXPECT_EQ(script.opened, 0);
    script.Send(kAck, 1, 1);
    EXPECT_EQ(script.opened, 1);
  }
}

TEST(Handshake, AnActiveOpenCompletes) {  // RFC 9293 section 3.10.7.3, SYN-SENT.
  Script script;
  script.Connect();
  const Segment syn = script.Only();
  EXPECT_EQ(syn.flags, kSyn);
  EXPECT_EQ(Option(syn, 2), MssOption(1460).substr(2));
  script.Send(kSyn | kAck, 0, 1, "", MssOption(kMss));
  EXPECT_TRUE(Is(script.Only(), kAck, 1, 1));
  EXPECT_EQ(script.opened, 1);
}

TEST(Handshake, AWrongAckInSynSentIsReset) {  // RFC 9293 section 3.10.7.3, first step.
  for (const uint8_t flags : {kAck, uint8_t{kSyn | kAck}}) {
    Script script;
    script.Connect();
    script.Sent();
    script.Send(flags, 0, 7);
    const Segments sent = script.Sent();
    ASSERT_FALSE(sent.empty());
    EXPECT_TRUE(sent[0].Has(kRst));
    EXPECT_EQ(sent[0].seq, 7u);
    EXPECT_EQ(script.opened + script.closed, 0);
  }
}

TEST(Handshake, AResetInSynSentNeedsTheAckOfTheSyn) {  // RFC 9293 section 3.10.7.3, second step.
  Script script;
  script.Connect();
  script.Sent();
  script.Send(kRst, 0, 0);
  script.Send(kRst | kAck, 0, 7);
  EXPECT_TRUE(script.Sent().empty());
  EXPECT_EQ(script.closed, 0);
  script.Send(kRst | kAck, 0, 1);
  EXPECT_EQ(script.closed, 1);
  EXPECT_EQ(script.reason, End::kReset);
}

TEST(Handshake, AResetReturnsSynReceivedToListen) {  // RFC 9293 section 3.10.7.4.
  Script script;
  script.Send(kSyn, 0, 0);
  script.Sent();
  script.Send(kRst, 1, 0);
  EXPECT_TRUE(script.Sent().empty());
  script.Send(kAck, 1, 1);
  EXPECT_TRUE(script.Only().Has(kRst));
  EXPECT_EQ(script.opened + script.closed, 0);
}

// ---- LISTEN, and segments that belong to no connection ----

TEST(Listening, OnlyAnAckIsReset) {  // RFC 9293 section 3.10.7.2.
  Script script;
  script.Send(kRst, 0, 0);
  script.Send(kRst | kAck, 0, 5);
  script.Send(kFin, 0, 0);
  script.Send(0, 0, 0, "x");
  EXPECT_TRUE(script.Sent().empty());
  for (const uint8_t flags : {kAck, uint8_t{kSyn | kAck}, uint8_t{kFin | kAck}}) {
    script.Send(flags, 0, 5);
    const Segment answer = script.Only();
    EXPECT_TRUE(answer.Has(kRst));
    EXPECT_EQ(answer.seq, 5u);
  }
  EXPECT_EQ(script.opened, 0);
}

// ---- Established: acceptability of segments ----

TEST(Established, AResetMustHaveTheNextNumber) {  // RFC 9293 section 3.10.7.4, RST; RFC 5961 3.2.
  Script script;
  script.Open();
  script.Send(kRst, 0, 0);                            // Before the window: dropped.
  script.Send(kRst, 1 + Stack::kWindowBytes + 1, 0);  // After it.
  EXPECT_TRUE(script.Sent().empty());
  EXPECT_EQ(script.closed, 0);
  script.Send(kRst, 2, 0);  // In the window: challenged.
  EXPECT_TRUE(Is(script.Only(), kAck, 1, 1));
  EXPECT_EQ(script.closed, 0);
  script.Send(kRst, 1, 0);
  EXPECT_TRUE(script.Sent().empty());
  EXPECT_EQ(script.closed, 1);
  EXPECT_EQ(script.reason, End::kReset);
}

TEST(Established, ASynIsChallenged) {  // RFC 9293 section 3.10.7.4, SYN; RFC 5961 section 4.2.
  Script script;
  script.Open();
  for (const uint32_t seq : {0u, 1u, 50u, 0x80000000u}) {
    script.Send(kSyn, seq, 0);
    EXPECT_TRUE(Is(script.Only(), kAck, 1, 1)) << seq;
  }
  EXPECT_EQ(script.closed, 0);
}

TEST(Established, UnacceptableSegmentsAreAnswered) {  // RFC 9293 section 3.10.7.4, first step.
  Script script;
  script.Open();
  script.Send(kAck, 1, 1, Text(1, 100));
  script.Run(0.5);
  script.Sent();
  const std::pair<uint32_t, size_t> cases[] = {
      {1, 100}, {50, 10}, {0, 0}, {100, 0}, {101 + Stack::kWindowBytes, 10}, {0x70000000, 0}};
  for (const auto& [seq, bytes] : cases) {
    script.Send(kAck, seq, 1, Text(seq, bytes));
    EXPECT_TRUE(Is(script.Only(), kAck, 1, 101)) << seq;
  }
  EXPECT_EQ(script.received, Text(1, 100));
}

TEST(Established, AnAckOfUnsentDataIsAnswered) {  // RFC 9293 section 3.10.7.4, ACK.
  Script script;
  script.Open();
  script.Write(100);
  script.Sent();
  script.Send(kAck, 1, 102);
  EXPECT_TRUE(Is(script.Only(), kAck, 101, 1));
  EXPECT_TRUE(Is(script.Next(10), kAck, 1, 1, 100));  // The data still counts as outstanding.
}

TEST(Established, OldAcksAreIgnored) {  // RFC 9293 section 3.10.7.4: SEG.ACK <= SND.UNA.
  Script script;
  script.Open();
  script.Write(100);
  script.Send(kAck, 1, 101);
  script.Write(100);
  script.Sent();
  script.Send(kAck, 1, 1, "a");
  EXPECT_EQ(script.received, "a");
  EXPECT_TRUE(Is(script.Next(0.5), kAck, 201, 2));
  EXPECT_TRUE(Is(script.Next(10), kAck, 101, 2, 100));  // The old ACK changed nothing.
  EXPECT_EQ(script.closed, 0);
}

TEST(Established, UrgentDataStaysInTheStream) {  // RFC 9293 section 3.8.5 (MUST-30, MUST-31).
  Script script;
  script.Open();
  script.urgent = 3;
  script.Send(kAck | kUrg, 1, 1, "abcdef");
  EXPECT_EQ(script.received, "abcdef");
}

TEST(Established, PushMarksTheEndOfWrittenData) {  // RFC 9293 section 3.9.1.2 (MUST-61).
  Script script;
  script.Open();
  script.Write(3000);
  const Segments sent = script.Sent();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_TRUE(sent.back().Has(kPsh));
  std::string all;
  for (const Segment& segment : sent) all += segment.data;
  EXPECT_EQ(all, Text(1, 3000));
}

TEST(Established, EmptySegmentsAreNotAnswered) {  // RFC 9293 section 3.10.7.4: an acceptable ACK.
  Script script;
  script.Open();
  for (int i = 0; i < 5; ++i) script.Send(kAck, 1, 1);
  script.Run(1);
  EXPECT_TRUE(script.Sent().empty());
}

// ---- Acknowledgements ----

TEST(Acknowledgement, IsDelayedForOneSegmentOnly) {  // RFC 9293 section 3.8.6.3, RFC 5681 4.2.
  Script script;
  script.Open();
  script.Send(kAck, 1, 1, Text(1, kMss));
  script.Run(0.45);
  EXPECT_TRUE(Is(script.Only(), kAck, 1, 1 + kMss));
  script.Send(kAck, 1 + kMss, 1, Text(1 + kMss, kMss));
  script.Send(kAck, 1 + 2 * kMss, 1, Text(1 + 2 * kMss, kMss));
  EXPECT_TRUE(Is(script.Only(), kAck, 1, 1 + 3 * kMss));
}

TEST(Acknowledgement, IsImmediateAroundAGap) {  // RFC 5681 section 4.2.
  Script script;
  script.Open();
  script.Send(kAck, 101, 1, Text(101, 100));
  EXPECT_TRUE(Is(script.Only(), kAck, 1, 1));
  script.Send(kAck, 201, 1, Text(201, 100));
  EXPECT_TRUE(Is(script.Only(), kAck, 1, 1));
  script.Send(kAck, 1, 1, Text(1, 50));  // Fills a part of the gap.
  script.Sent();
  script.Send(kAck, 51, 1, Text(51, 50));
  EXPECT_TRUE(Is(script.Only(), kAck, 1, 301));
  EXPECT_EQ(script.received, Text(1, 300));
}

TEST(Acknowledgement, SackBlocksNameTheNewestFirst) {  // RFC 2018 section 4.
  Script script;
  script.Open(MssOption(kMss) + SackPermitted());
  const auto blocks = [&](uint32_t from) {
    script.Send(kAck, from, 1, Text(from, 100));
    std::string value = Option(script.Only(), 5);
    std::vector<uint32_t> numbers;
    for (size_t at = 0; at + 4 <= value.size(); at += 4) {
      numbers.push_back(packet::LoadBe32(reinterpret_cast<const uint8_t*>(value.data()) + at) -
                        1'000'000);
    }
    return numbers;
  };
  EXPECT_EQ(blocks(201), (std::vector<uint32_t>{201, 301}));
  EXPECT_EQ(blocks(601), (std::vector<uint32_t>{601, 701, 201, 301}));
  EXPECT_EQ(blocks(401), (std::vector<uint32_t>{401, 501, 601, 701, 201, 301}));
  const std::vector<uint32_t> merged = blocks(301);
  ASSERT_GE(merged.size(), 2u);
  EXPECT_EQ(merged[0], 201u);
  EXPECT_EQ(merged[1], 501u);
  EXPECT_EQ(blocks(1), (std::vector<uint32_t>{201, 501, 601, 701}));
}

// ---- Order and overlap ----

TEST(Order, SegmentsInAnyOrderYieldTheStream) {  // RFC 9293 section 3.10.7.4, seventh step.
  std::vector<uint32_t> order = {0, 1, 2, 3, 4};
  do {
    Script script(0xffffff00);  // Sequence numbers wrap within the second segment.
    script.Open();
    for (const uint32_t i : order) script.Send(kAck, 1 + 200 * i, 1, Text(1 + 200 * i, 200));
    ASSERT_EQ(script.received, Text(1, 1000));
    script.Run(0.5);
    ASSERT_EQ(script.Sent().back().ack, 1001u);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Order, OverlapsAreTrimmed) {  // RFC 9293 section 3.10.7.4: portions outside are trimmed.
  const std::vector<std::pair<uint32_t, uint32_t>> orders[] = {
      {{1, 100}, {51, 150}},                           // Overlaps the delivered bytes.
      {{1, 100}, {1, 300}},                            // Contains them.
      {{101, 100}, {1, 150}},                          // Overlaps the start of a later segment.
      {{101, 100}, {1, 300}},                          // Contains it.
      {{101, 100}, {151, 100}, {1, 100}},              // Later segments overlap each other.
      {{101, 100}, {51, 100}, {1, 100}},               //
      {{101, 100}, {301, 100}, {151, 200}, {1, 101}},  // Spans a gap between two.
      {{101, 50}, {201, 50}, {301, 50}, {51, 400}, {1, 60}},
      {{101, 100}, {101, 100}, {101, 50}, {101, 150}, {1, 100}},
  };
  for (const auto& order : orders) {
    Script script;
    script.Open();
    uint32_t end = 0;
    for (const auto& [seq, bytes] : order) {
      script.Send(kAck, seq, 1, Text(seq, bytes));
      end = std::max(end, seq + bytes);
    }
    // Bytes that the stack dropped are sent again, as by any peer.
    script.Send(kAck, 1, 1, Text(1, end - 1));
    EXPECT_EQ(script.received, Text(1, end - 1));
    EXPECT_EQ(script.Sent().back().ack, end);
  }
}

TEST(Order, DeliveredBytesNeverChange) {  // RFC 9293 section 3.10.7.4: only new bytes are used.
  Script script;
  script.Open();
  script.Send(kAck, 1, 1, "abcd");
  script.Send(kAck, 1, 1, "WXYZef");
  script.Send(kAck, 3, 1, "WXYZgh");
  EXPECT_EQ(script.received, "abcdefgh");
  // Of bytes after a gap either copy may be used, but each position is delivered once.
  script.Send(kAck, 11, 1, "kl");
  script.Send(kAck, 11, 1, "KL");
  script.Send(kAck, 9, 1, "ij");
  ASSERT_EQ(script.received.size(), 12u);
  EXPECT_EQ(script.received.substr(0, 10), "abcdefghij");
}

TEST(Order, BytesBeyondTheWindowAreDropped) {  // RFC 9293 section 3.10.7.4; section 3.8.6.
  Script script;
  script.read = false;
  script.Open(MssOption(kMss) + ScaleOption(0));
  for (uint32_t at = 1; at < 2 * Stack::kWindowBytes; at += kMss) {
    script.Send(kAck, at, 1, Text(at, kMss));
  }
  EXPECT_EQ(script.received.size(), size_t{Stack::kWindowBytes});
  EXPECT_EQ(script.received, Text(1, script.received.size()));
  const Segments sent = script.Sent();
  EXPECT_EQ(sent.back().ack, 1 + script.received.size());
  EXPECT_EQ(script.closed, 0);
}

// ---- Closing ----

TEST(Closing, ThePeerFirst) {  // RFC 9293 section 3.6, case 2; section 3.10.7.4, FIN.
  Script script;
  script.Open();
  script.Send(kFin | kAck, 1, 1);
  EXPECT_TRUE(Is(script.Next(0.5), kAck, 1, 2));
  EXPECT_EQ(script.half_closed, 1);
  script.Write(10);  // CLOSE-WAIT still sends.
  EXPECT_TRUE(Is(script.Only(), kAck, 1, 2, 10));
  script.stack().Finish(0);
  EXPECT_TRUE(Is(script.Only(), kFin | kAck, 11, 2));
  EXPECT_EQ(script.closed, 0);
  script.Send(kAck, 2, 12);
  EXPECT_TRUE(script.Sent().empty());
  EXPECT_EQ(script.closed, 1);
  EXPECT_EQ(script.reason, End::kFinished);
  script.Send(kAck, 2, 12);  // CLOSED, not TIME-WAIT.
  EXPECT_TRUE(script.Only().Has(kRst));
}

TEST(Closing, TheStackFirst) {  // RFC 9293 section 3.6, case 1; figure 12.
  Script script;
  FinishFirst(script);
  script.Send(kAck, 1, 2);
  script.Send(kAck, 1, 2, "abc");  // FIN-WAIT-2 still receives.
  EXPECT_EQ(script.received, "abc");
  script.Run(0.5);
  EXPECT_TRUE(Is(script.Only(), kAck, 2, 4));
  script.Send(kFin | kAck, 4, 2);
  EXPECT_TRUE(Is(script.Only(), kAck, 2, 5));
  EXPECT_EQ(script.closed, 1);
  EXPECT_EQ(script.reason, End::kFinished);
}

TEST(Closing, AFinMayAcknowledgeTheFin) {  // RFC 9293 section 3.10.7.4, FIN-WAIT-1.
  Script script;
  FinishFirst(script);
  script.Send(kFin | kAck, 1, 2, "abc");
  EXPECT_TRUE(Is(script.Only(), kAck, 2, 5));
  EXPECT_EQ(script.received, "abc");
  EXPECT_EQ(script.reason, End::kFinished);
  EXPECT_EQ(script.closed, 1);
}

TEST(Closing, BothAtOnce) {  // RFC 9293 section 3.6, case 3; figure 13.
  Script script;
  FinishFirst(script);
  script.Send(kFin | kAck, 1, 1);
  EXPECT_TRUE(Is(script.Only(), kAck, 2, 2));
  EXPECT_EQ(script.closed, 0);  // CLOSING
  script.Send(kAck, 2, 2);
  EXPECT_TRUE(script.Sent().empty());
  EXPECT_EQ(script.closed, 1);
  EXPECT_EQ(script.reason, End::kFinished);
  script.Send(kFin | kAck, 1, 2);  // TIME-WAIT acknowledges a repeated FIN.
  EXPECT_TRUE(Is(script.Only(), kAck, 2, 2));
}

TEST(Closing, AFinWaitsForTheBytesBeforeIt) {  // RFC 9293 section 3.10.7.4, eighth step.
  Script script;
  script.Open();
  script.Send(kFin | kAck, 11, 1, Text(11, 10));
  EXPECT_EQ(script.half_closed, 0);
  EXPECT_TRUE(Is(script.Only(), kAck, 1, 1));
  script.Send(kAck, 1, 1, Text(1, 10));
  EXPECT_EQ(script.received, Text(1, 20));
  EXPECT_EQ(script.half_closed, 1);
  EXPECT_EQ(script.Sent().back().ack, 22u);
  script.Send(kAck, 22, 1, "more");  // Nothing follows a FIN.
  EXPECT_EQ(script.received.size(), 20u);
}

TEST(Closing, AFinFollowsTheDataAndIsRepeated) {  // RFC 9293 section 3.6; RFC 6298 section 5.
  Script script;
  script.Open();
  script.Write(2000);
  script.stack().Finish(0);
  Segments sent = script.Sent();
  EXPECT_TRUE(sent.back().Has(kFin));
  EXPECT_EQ(sent.back().end(), 2001u);
  script.Send(kAck, 1, 2001);
  EXPECT_TRUE(script.Sent().empty());
  const Segment again = script.Next(10);
  EXPECT_TRUE(again.Has(kFin));
  EXPECT_EQ(again.end(), 2001u);
}

TEST(Closing, AResetEndsEachState) {  // RFC 9293 section 3.10.7.4, RST.
  for (int state = 0; state < 5; ++state) {
    Script script;
    uint32_t next = 1;
    if (state < 3) FinishFirst(script);                   // FIN-WAIT-1
    if (state == 1) script.Send(kAck, 1, 2);              // FIN-WAIT-2
    if (state == 2) script.Send(kFin | kAck, next++, 1);  // CLOSING
    if (state >= 3) {
      script.Open();
      script.Send(kFin | kAck, next++, 1);  // CLOSE-WAIT
    }
    if (state == 4) script.stack().Finish(0);  // LAST-ACK
    script.Run(0.1);
    script.Sent();
    script.Send(kRst, next + 1, 0);  // In the window, but not the next number.
    EXPECT_EQ(script.closed, 0) << state;
    EXPECT_EQ(script.Only().ack, next) << state;
    script.Send(kRst, next, 0);
    EXPECT_TRUE(script.Sent().empty());
    EXPECT_EQ(script.closed, 1) << state;
    EXPECT_EQ(script.reason, End::kReset) << state;
  }
}

TEST(Closing, TimeWaitAnswers) {  // RFC 9293 sections 3.6.1, 3.10.7.4 (MUST-13).
  Script script;
  FinishFirst(script);
  script.Send(kFin | kAck, 1, 2);
  EXPECT_TRUE(Is(script.Only(), kAck, 2, 2));
  script.Run(20);
  script.Send(kFin | kAck, 1, 2);  // Restarts the time-out.
  EXPECT_TRUE(Is(script.Only(), kAck, 2, 2));
  script.Run(20);
  script.Send(kSyn, 0, 0);  // An old SYN opens nothing.
  EXPECT_TRUE(Is(script.Only(), kAck, 2, 2));
  script.Send(kSyn, 1000, 0);  // A newer SYN does.
  const Segment answer = script.Only();
  EXPECT_EQ(answer.flags, kSyn | kAck);
  EXPECT_EQ(answer.ack, 1001u);
}

TEST(Closing,
     TimeWaitEnds) {  // RFC 9293 section 3.10.8; the time is a setting (docs/transport.md).
  Script script;
  FinishFirst(script);
  script.Send(kFin | kAck, 1, 2);
  script.Run(31);
  script.Sent();
  script.Send(kFin | kAck, 1, 2);
  EXPECT_TRUE(script.Only().Has(kRst));
}

TEST(Closing, AbortSendsOneReset) {  // RFC 9293 section 3.10.5: <SEQ=SND.NXT><CTL=RST>.
  Script script;
  script.Open();
  script.Write(100);
  script.Sent();
  script.stack().Abort(0);
  const Segment reset = script.Only();
  EXPECT_TRUE(reset.Has(kRst));
  EXPECT_EQ(reset.seq, 101u);
  EXPECT_EQ(script.reason, End::kAborted);
}

// ---- Keepalive and give-up ----

TEST(Keepalive, ProbesWithTheLastNumber) {  // RFC 9293 section 3.8.4.
  Script script;
  script.Open();
  for (int i = 0; i < 3; ++i) {
    const Segment probe = script.Next(61);
    EXPECT_TRUE(Is(probe, kAck, 0, 1));  // SND.NXT - 1, without data.
    script.Send(kAck, 1, 1);
  }
  for (int i = 0; i < 5; ++i) script.Next(61);  // MUST-29: lost answers do not end it.
  EXPECT_EQ(script.closed, 0);
  script.Send(kAck, 1, 1);
  script.Run(59);
  EXPECT_EQ(script.closed, 0);
}

TEST(Keepalive, AProbeOfThePeerIsAnswered) {  // RFC 9293 section 3.8.4.
  Script script;
  script.Open();
  script.Send(kAck, 0, 1);
  EXPECT_TRUE(Is(script.Only(), kAck, 1, 1));
}

TEST(GiveUp, UnansweredDataEndsTheConnection) {  // RFC 9293 section 3.8.3 (MUST-20, SHLD-10).
  Script script;
  script.Open();
  script.Write(100);
  script.Sent();
  int sent = 0;
  for (int i = 0; i < 4000 && script.closed == 0; ++i) {
    script.Run(0.1);
    for (const Segment& segment : script.Sent()) sent += segment.data.size() == 100;
  }
  EXPECT_EQ(script.closed, 1);
  EXPECT_EQ(script.reason, End::kTimedOut);
  EXPECT_GE(sent, 3);  // R1: at least three retransmissions.
}

}  // namespace
}  // namespace sluice::transport
