// SPDX-License-Identifier: BSD-3-Clause
//
// Rules that the stack does not follow, each with a check that it still deviates. The section
// "Deviations" of docs/transport.md lists them. When a check fails, the rule becomes a test of
// rules_test.cc or rules_flow_test.cc.
#include <functional>
#include <ostream>

#include "script.h"

namespace sluice::transport {
namespace {

struct Deviation {
  const char* name;     ///< The rule.
  const char* section;  ///< Where an RFC states it.
  const char* reason;   ///< Why the stack deviates.
  bool (*holds)();      ///< Returns whether the stack follows the rule.
};

std::ostream& operator<<(std::ostream& out, const Deviation& rule) { return out << rule.section; }

bool AnyHas(const Segments& segments, const std::function<bool(const Segment&)>& property) {
  return std::any_of(segments.begin(), segments.end(), property);
}

/// Raises the congestion window to more than 20 segments. Afterwards all is acknowledged.
void WarmUp(Script& script) {
  script.Open();
  script.Write(60 * kMss);
  for (Segments sent = script.Sent(); !sent.empty();) sent = script.AckEach(sent);
  EXPECT_EQ(script.flight(), 0u);
}

/// Acknowledges bytes at once until the estimate of the round trip is that of the peer.
void MeasureRoundTrip(Script& script) {
  script.Open();
  for (int i = 0; i < 40; ++i) {
    script.Run(0.1);
    script.Write(1);
    script.AckEach(script.Sent());
  }
}

const Deviation kDeviations[] = {
    {"AckThatReducesTheWindow", "RFC 9293 section 3.10.7.4, ACK: SND.WL2 =< SEG.ACK",
     "lwIP ignores a smaller window in a segment without new numbers",
     [] {
       Script script;
       script.Open();
       script.window = 0;
       script.Send(kAck, 1, 1);
       script.Write(100);
       return script.Sent().empty();
     }},
    {"SimultaneousOpen", "RFC 9293 section 3.5 (MUST-10), figure 7",
     "lwIP ignores a SYN without ACK in SYN-SENT",
     [] {
       Script script;
       script.Connect();
       script.Sent();
       script.Send(kSyn, 0, 0);
       return AnyHas(script.Sent(), [](const Segment& s) { return s.flags == (kSyn | kAck); });
     }},
    {"AnotherSynInSynReceived", "RFC 9293 section 3.10.7.4, SYN: return to LISTEN",
     "lwIP ignores it; the first SYN stays valid",
     [] {
       Script script;
       script.Send(kSyn, 0, 0);
       script.Send(kSyn, 5, 0);
       script.Send(kAck, 1, 1);
       return script.opened == 0;
     }},
    {"SynBackOff", "RFC 6298 section 5.5", "lwIP repeats a SYN at a constant interval",
     [] {
       Script script;
       script.Connect();
       const double first = script.Only().time;
       const double second = script.Next(10).time, third = script.Next(20).time;
       return third - second > 1.5 * (second - first);
     }},
    {"SynForThreeMinutes", "RFC 9293 section 3.8.3 (MUST-23)", "TCP_SYNMAXRTX is 6",
     [] {
       Script script;
       script.Connect();
       script.Run(179);
       return script.closed == 0;
     }},
    {"DataForHundredSeconds", "RFC 9293 section 3.8.3 (SHLD-11)", "TCP_MAXRTX is 8",
     [] {
       Script script;
       MeasureRoundTrip(script);
       script.Write(100);
       script.Run(99);
       return script.closed == 0;
     }},
    {"TimeOutOfOneSecond", "RFC 6298 section 2.4", "lwIP's minimum is that of its timer",
     [] {
       Script script;
       MeasureRoundTrip(script);
       script.Write(100);
       const double sent = script.Only().time;
       return script.Next(10).time - sent >= 0.9;
     }},
    {"WindowAfterALostSynAck", "RFC 5681 section 3.1", "lwIP starts with the full initial window",
     [] {
       Script script;
       script.Send(kSyn, 0, 0, "", MssOption(kMss));
       script.Sent();
       script.Next(10);
       script.Send(kAck, 1, 1);
       script.Write(10 * kMss);
       return script.Sent().size() <= 1;
     }},
    {"SlowStartBySegment", "RFC 5681 section 3.1, equation 2",
     "lwIP adds up to two segments for one ACK (RFC 3465)",
     [] {
       Script script;
       script.Open();
       script.Write(100 * kMss);
       script.Send(kAck, 1, 1 + 2 * kMss);
       return script.flight() <= 4;
     }},
    {"ThresholdFromTheFlight", "RFC 5681 section 3.1, equation 4",
     "lwIP halves cwnd even if less is in flight",
     [] {
       Script script;
       WarmUp(script);
       script.Write(4 * kMss);
       script.Sent();
       Segments sent{script.Next(10)};
       script.Write(100 * kMss);
       script.Sent();
       sent = script.AckEach(sent);
       EXPECT_EQ(sent.size(), 2u);
       return script.AckEach(sent).size() <= 3;
     }},
    {"RestartAfterIdle", "RFC 5681 section 4.1", "lwIP keeps cwnd",
     [] {
       Script script;
       WarmUp(script);
       script.Run(30);
       script.Write(40 * kMss);
       return script.Sent().size() <= 3;
     }},
    {"LimitedTransmit", "RFC 5681 section 3.2, step 1; RFC 3042", "lwIP does not implement it",
     [] {
       Script script;
       script.Open();
       script.Grow(8);
       script.Send(kAck, 1, script.una());
       return script.Sent().size() == 1;
     }},
    {"PartialAcks", "RFC 6582 section 3.2, step 3", "lwIP implements Reno",
     [] {
       Script script;
       script.Open();
       script.Grow(8);
       for (int i = 0; i < 3; ++i) script.Send(kAck, 1, script.una());
       EXPECT_EQ(script.Sent().size(), 1u);
       const uint32_t hole = script.una() + kMss;
       script.Send(kAck, 1, hole);
       return AnyHas(script.Sent(), [&](const Segment& s) { return s.seq == hole; });
     }},
    {"DeflationAfterRecovery", "RFC 5681 section 3.2, step 6",
     "lwIP adds a segment for the ACK that ends the recovery",
     [] {
       Script script;
       script.Open();
       script.Grow(8);
       for (int i = 0; i < 3; ++i) script.Send(kAck, 1, script.una());
       script.Send(kAck, 1, script.end());
       EXPECT_LE(script.flight(), 5u);  // Not the window that the duplicates inflated.
       return script.flight() <= 4;
     }},
    {"AckOfAPartOfAGap", "RFC 5681 section 4.2", "lwIP delays it unless the gap is filled",
     [] {
       Script script;
       script.Open();
       script.Send(kAck, 101, 1, Text(101, 100));
       script.Sent();
       script.Send(kAck, 1, 1, Text(1, 50));
       return script.Sent().size() == 1;
     }},
    {"NoDataWithoutAck", "RFC 9293 section 3.10.7.4, ACK: drop if the bit is off",
     "lwIP checks only RST and SYN before data",
     [] {
       Script script;
       script.Open();
       script.Send(kPsh, 1, 0, "abc");
       return script.received.empty();
     }},
    {"NoDataWithAckOfUnsentData", "RFC 9293 section 3.10.7.4, ACK: send an ACK, drop",
     "lwIP answers, but accepts the data",
     [] {
       Script script;
       script.Open();
       script.Send(kAck, 1, 500, "abc");
       return script.received.empty();
     }},
    {"NoAckOutsideTheWindow", "RFC 9293 section 3.10.7.4, first step",
     "lwIP processes the ACK of an unacceptable segment",
     [] {
       Script script;
       script.Open();
       script.Write(100);
       script.Sent();
       script.Send(kAck, 0x70000000, 101);
       script.Run(10);
       return AnyHas(script.Sent(), [](const Segment& s) { return s.data.size() == 100; });
     }},
    {"ResetWithoutAck", "RFC 9293 section 3.10.7.2: <SEQ=SEG.ACK><CTL=RST>",
     "lwIP sets ACK in every reset",
     [] {
       Script script;
       script.Send(kAck, 0, 5);
       return script.Only().flags == kRst;
     }},
    {"ResetInTimeWait", "RFC 9293 section 3.10.7.4, RST", "lwIP ignores it, as RFC 1337 advises",
     [] {
       Script script;
       FinishFirst(script);
       script.Send(kFin | kAck, 1, 2);
       script.Send(kRst, 2, 0);
       script.Sent();
       script.Send(kFin | kAck, 1, 2);
       return script.Only().Has(kRst);
     }},
    {"TimeWaitOfFourMinutes", "RFC 9293 sections 3.4.2, 3.6.1 (MUST-13)", "TCP_MSL is 15 s",
     [] {
       Script script;
       FinishFirst(script);
       script.Send(kFin | kAck, 1, 2);
       script.Run(239);
       script.Sent();
       script.Send(kFin | kAck, 1, 2);
       return !script.Only().Has(kRst);
     }},
    {"NoKeepaliveWithDataInFlight", "RFC 9293 section 3.8.4 (MUST-26)",
     "lwIP probes whenever the peer is silent",
     [] {
       Script script;
       script.Open();
       script.Write(100);
       script.Sent();
       script.Run(90);
       return !AnyHas(script.Sent(), [](const Segment& s) { return s.data.empty(); });
     }},
    {"NoKeepaliveByDefault", "RFC 9293 section 3.8.4 (MUST-25, MUST-28)",
     "servers must notice in minutes that a peer is gone",
     [] {
       Script script;
       script.Open();
       script.Run(7199);
       return script.Sent().empty();
     }},
};

class Deviations : public testing::TestWithParam<Deviation> {};
INSTANTIATE_TEST_SUITE_P(Rules, Deviations, testing::ValuesIn(kDeviations),
                         [](const auto& info) { return info.param.name; });

TEST_P(Deviations, AreStated) {
  EXPECT_FALSE(GetParam().holds())
      << GetParam().section << ": no longer true: " << GetParam().reason;
}

}  // namespace
}  // namespace sluice::transport
