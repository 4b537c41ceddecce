// SPDX-License-Identifier: BSD-3-Clause
//
// Rules of RFC 9293 (TCP), RFC 7323 (window scale), RFC 5681 (congestion control) and RFC 6298
// (retransmission timer) for windows and loss. Each test names the sections that it checks.
#include "script.h"

namespace sluice::transport {
namespace {

// ---- Windows ----

TEST(Window, TheSenderStaysWithinIt) {  // RFC 9293 section 3.8.6.
  Script script;
  script.window = 2000;
  script.Open();
  script.Write(20'000);
  EXPECT_LE(script.end(), 2001u);
  script.Send(kAck, 1, script.end());
  EXPECT_LE(script.end(), script.una() + 2000);
}

TEST(Window, IsScaledByTheShiftOfTheSyn) {  // RFC 7323 sections 2.2, 2.3.
  // A shift above 14 counts as 14, so that no window exceeds 2^30 bytes.
  const std::pair<uint8_t, uint32_t> cases[] = {{0, 8}, {3, 64}, {14, 100}, {15, 100}, {255, 100}};
  for (const auto& [shift, segments] : cases) {
    Script script;
    script.window = 8 * kMss;
    script.Open(MssOption(kMss) + ScaleOption(shift));
    script.Write(170 * kMss);
    uint32_t most = 0;
    while (script.una() + kMss <= script.end() && script.una() < 97 * kMss) {
      script.Send(kAck, 1, script.una() + kMss);
      most = std::max(most, script.flight());
    }
    if (shift <= 3) {
      EXPECT_EQ(most, segments);
    } else {
      EXPECT_GE(most, 70u);
    }
  }
  Script script;  // The window of a SYN itself is not scaled (RFC 7323 section 2.2).
  script.Connect();
  script.window = 2 * kMss;
  script.Send(kSyn | kAck, 0, 1, "", MssOption(kMss) + ScaleOption(3));
  script.Sent();
  script.Write(10 * kMss);
  EXPECT_EQ(script.Sent().size(), 2u);
}

TEST(Window, AZeroWindowIsProbedWithBackOff) {  // RFC 9293 section 3.8.6.1 (MUST-35 to MUST-37).
  Script script;
  script.OpenAndCloseWindow();
  script.Write(5000);
  EXPECT_TRUE(script.Sent().empty());
  double last = script.now(), wait = 0;
  for (int i = 0; i < 20; ++i) {
    const Segment probe = script.Next(130);
    EXPECT_EQ(probe.seq, 1u);
    EXPECT_LE(probe.data.size(), 1u);
    if (i >= 2) {
      EXPECT_GE(probe.time - last, wait - 0.11);  // The intervals never become shorter.
    }
    wait = probe.time - last, last = probe.time;
    script.Send(kAck, 2, 1);
    EXPECT_TRUE(script.Sent().empty());
  }
  EXPECT_GT(wait, 5);
  EXPECT_EQ(script.closed, 0);
  script.window = 0xffff;  // The connection continues at once.
  script.Send(kAck, 2, 1);
  const Segments sent = script.Sent();
  ASSERT_FALSE(sent.empty());
  EXPECT_EQ(sent[0].seq, 1u);
}

TEST(Window, MayShrink) {  // RFC 9293 section 3.8.6 (MUST-34).
  Script script;
  script.Open();
  script.Write(20 * kMss);
  EXPECT_EQ(script.Sent().size(), 3u);
  script.window = 1000;  // Less than is in flight.
  script.Send(kAck, 1, 1 + kMss);
  EXPECT_TRUE(script.Sent().empty());
  EXPECT_EQ(script.closed, 0);
  script.window = 0xffff;
  script.Send(kAck, 1, 1 + 3 * kMss);
  const Segments sent = script.Sent();
  ASSERT_FALSE(sent.empty());
  EXPECT_TRUE(Is(sent[0], kAck, 1 + 3 * kMss, 1, kMss));
}

TEST(Window, AnOldSegmentDoesNotUpdateIt) {  // RFC 9293 section 3.10.7.4: SND.WL1, SND.WL2.
  Script script;
  script.Open();
  script.Send(kAck, 1, 1, "abc");
  script.Send(kAck, 4, 1);
  script.window = 0;
  script.Send(kAck, 1, 1, "abc");
  script.Sent();
  script.Write(1000);
  const Segments sent = script.Sent();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(Is(sent[0], kAck, 1, 4, 1000));
}

TEST(Window, TheSenderAvoidsTinySegments) {  // RFC 9293 section 3.8.6.2.1 (MUST-38).
  Script script;
  script.OpenAndCloseWindow();
  script.Write(20 * kMss);
  script.window = 100;
  script.Send(kAck, 2, 1);
  EXPECT_TRUE(script.Sent().empty());
  script.window = kMss;
  script.Send(kAck, 2, 1);
  EXPECT_TRUE(Is(script.Only(), kAck, 1, 2, kMss));
}

TEST(Window, TheReceiverOpensItInLargeSteps) {  // RFC 9293 section 3.8.6.2.2 (MUST-39).
  Script script;
  script.read = false;
  script.Open();
  uint32_t at = 1, edge = 1 + 0xffff;  // The next number, and the end of the window.
  const auto see = [&] {
    for (const Segment& segment : script.Sent()) edge = segment.ack + segment.window;
  };
  while (at < edge && at < 0x20000) {
    const uint32_t bytes = std::min(edge - at, kMss);
    script.Send(kAck, at, 1, Text(at, bytes));
    at += bytes;
    if (at == edge) script.Run(0.5);
    see();
  }
  ASSERT_EQ(script.received.size(), 0xffffu);  // The most without window scale.
  script.stack().Consume(0, 1000);             // Less than a segment.
  script.Run(1);
  script.Send(kAck, at, 1, "a");  // A probe.
  script.Run(0.5);
  EXPECT_EQ(script.Only().window, 0u);
  script.stack().Consume(0, static_cast<uint32_t>(script.received.size()) - 1000);
  const Segments sent = script.Sent();  // Then the peer learns of the window without a probe.
  ASSERT_FALSE(sent.empty());
  EXPECT_EQ(sent.back().window, 0xffffu);
}

TEST(Window, ItsRightEdgeNeverMovesBack) {  // RFC 9293 section 3.8.6 (SHLD-14).
  Script script;
  script.read = false;
  script.Open(MssOption(kMss) + ScaleOption(0));
  uint32_t edge = 0;
  for (uint32_t at = 1; at + kMss < Stack::kWindowBytes; at += kMss) {
    script.Send(kAck, at, 1, Text(at, kMss));
    for (const Segment& segment : script.Sent()) {
      const uint32_t next = segment.ack + (segment.window << 3);
      EXPECT_GE(next + 7, edge);  // The shift loses up to 7 bytes (RFC 7323 section 2.4).
      edge = std::max(edge, next);
    }
  }
}

// ---- Loss and congestion ----

TEST(Loss, TheTimeOutDoubles) {  // RFC 6298 sections 5.4, 5.5, 5.6.
  Script script;
  script.Open();
  script.Write(100);
  double last = script.Only().time, wait = 0;
  for (int i = 0; i < 4; ++i) {
    const Segment segment = script.Next(130);
    EXPECT_TRUE(Is(segment, kAck, 1, 1, 100));
    if (i > 0) {
      EXPECT_NEAR(segment.time - last, 2 * wait, 0.25) << i;
    }
    wait = segment.time - last, last = segment.time;
  }
  EXPECT_EQ(script.closed, 0);
}

TEST(Loss, AnAckRestartsTheTimer) {  // RFC 6298 sections 5.2, 5.3.
  Script script;
  script.Open();
  script.Write(3 * kMss);
  script.Sent();
  script.Run(0.2);
  script.Send(kAck, 1, 1 + kMss);
  script.Write(1);
  script.Send(kAck, 1, script.end());
  script.Sent();
  script.Run(30);
  EXPECT_TRUE(script.Sent().empty());  // All is acknowledged, so no timer runs.
}

TEST(Loss, ATimeOutReducesTheWindow) {  // RFC 5681 section 3.1: equation 4, the loss window.
  Script script;
  script.Open();
  script.Grow(8);
  Segments sent{script.Next(10)};
  EXPECT_TRUE(Is(sent[0], kAck, script.una(), 1, kMss));
  // Slow start up to half of the flight, then congestion avoidance (equation 3).
  sent = script.AckEach(sent);
  EXPECT_EQ(sent.size(), 2u);
  sent = script.AckEach(sent);
  EXPECT_EQ(sent.size(), 4u);
  sent = script.AckEach(sent);
  EXPECT_GE(sent.size(), 5u);
  EXPECT_LE(sent.size(), 6u);
  for (int round = 0; round < 5; ++round) {
    const size_t before = sent.size();
    sent = script.AckEach(sent);
    EXPECT_EQ(sent.size(), before + 1);
  }
}

TEST(Loss, SlowStartAddsASegmentForEachAck) {  // RFC 5681 section 3.1, equation 2.
  Script script;
  script.Open();
  script.Write(100 * kMss);
  Segments sent = script.Sent();
  for (const size_t segments : {3, 6, 12, 24}) {
    EXPECT_EQ(sent.size(), segments);
    sent = script.AckEach(sent);
  }
}

TEST(Loss, TinyAcksDoNotOpenTheWindow) {  // RFC 5681 section 3.1: cwnd += min(N, SMSS).
  Script script;
  script.Open();
  script.Write(100 * kMss);
  script.Sent();
  for (uint32_t i = 1; i <= 10; ++i) script.Send(kAck, 1, 1 + i);
  // 10 bytes were acknowledged, so cwnd is 3 * SMSS + 10.
  EXPECT_LE(script.end() - script.una(), 3 * kMss + 10);
}

TEST(Loss, ThreeDuplicateAcksCauseARetransmission) {  // RFC 5681 section 3.2, steps 2 to 5.
  Script script;
  script.Open();
  script.Grow(8);
  const uint32_t lost = script.una();
  script.Send(kAck, 1, lost);
  script.Send(kAck, 1, lost);
  for (const Segment& segment : script.Sent()) EXPECT_NE(segment.seq, lost);
  script.Send(kAck, 1, lost);
  EXPECT_TRUE(Is(script.Only(), kAck, lost, 1, kMss));
  script.Send(kAck, 1, lost);  // cwnd = 4 + 4
  EXPECT_TRUE(script.Sent().empty());
  script.Send(kAck, 1, lost);  // cwnd = 4 + 5
  EXPECT_TRUE(Is(script.Only(), kAck, lost + 8 * kMss, 1, kMss));
}

TEST(Loss, OtherAcksAreNotDuplicates) {  // RFC 5681 section 2: the definition.
  Script script;
  script.Open();
  script.Grow(4);
  const uint32_t una = script.una();
  for (uint32_t i = 0; i < 6; ++i) script.Send(kAck, 1 + i, una, "a");  // With data.
  for (uint32_t i = 0; i < 6; ++i) {                                    // With another window.
    script.window = static_cast<uint16_t>(60'000 + i);
    script.Send(kAck, 7, una);
  }
  for (const Segment& segment : script.Sent()) EXPECT_NE(segment.seq, una);
}

TEST(Loss, AcksWithoutOutstandingDataAreNotDuplicates) {  // RFC 5681 section 2.
  Script script;
  script.Open();
  for (int i = 0; i < 6; ++i) script.Send(kAck, 1, 1);
  script.Write(2 * kMss);
  const Segments sent = script.Sent();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].seq, 1 + kMss);
}

}  // namespace
}  // namespace sluice::transport
