// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the reassembly of TCP streams. Expected values follow RFC 9293 (order and wrap; SYN and FIN
// consume one number each), RFC 5961 (resets), and the contract in tcp_assembler.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/logmon/source/tcp_assembler.h"
#include "logmon/tcp_recorder.h"

namespace sluice::engine::logmon {
namespace {

constexpr uint8_t kSyn = TcpSegment::kSyn, kFin = TcpSegment::kFin, kRst = TcpSegment::kRst;
constexpr uint8_t kAck = 0x10;
using Counter = SourceCounters;

/// A stream with functions that pass segments and advance the time.
class TcpStreamTest : public testing::Test {
 protected:
  static constexpr uint32_t kWindow = 1000;
  static constexpr uint64_t kGapCycles = 100;

  bool Process(uint32_t sequence, std::string_view text, uint8_t flags = kAck) {
    return assembler_.Process(stream_, {sequence, flags, text}, now_, recorder_);
  }
  uint64_t Count(Counter::Event event) const { return counters_.Load(event); }
  /// Returns the output since the last call.
  std::string Out() { return std::exchange(recorder_.record, ""); }
  std::string AfterWaiting() {
    now_ += kGapCycles + 1;
    assembler_.GiveUpLate(stream_, now_, recorder_);
    return Out();
  }

  SourceCounters counters_;
  TcpAssembler assembler_{{.pool_bytes = 1 << 20, .window = kWindow, .gap_cycles = kGapCycles},
                          counters_};
  TcpStream stream_;
  test::Recorder recorder_;
  uint64_t now_ = 1000;
};

TEST_F(TcpStreamTest, DeliversFromSynToFin) {
  EXPECT_TRUE(Process(100, "", kSyn));
  EXPECT_TRUE(Process(101, "one "));
  EXPECT_TRUE(Process(105, "two", kAck | kFin));
  EXPECT_EQ(Out(), "one two{end}");
  EXPECT_EQ(Count(Counter::kStreams), 1u);
  EXPECT_EQ(Count(Counter::kFinishedStreams), 1u);
}

TEST_F(TcpStreamTest, TakesDataThatComesWithSynAndFin) {
  Process(100, "fast", kSyn | kFin);
  EXPECT_EQ(Out(), "fast{end}");
}

TEST_F(TcpStreamTest, BeginsInTheMiddleBehindAGap) {
  EXPECT_FALSE(Process(5000, ""));  // A segment without text does not start a stream.
  Process(5000, "half\nwhole\n");
  EXPECT_EQ(Out(), "{gap}half\nwhole\n");
  EXPECT_EQ(Count(Counter::kJoinedStreams), 1u);
}

TEST_F(TcpStreamTest, PutsReorderedSegmentsInTheirOrder) {
  Process(0, "", kSyn);
  Process(7, "three");
  Process(4, "two");
  EXPECT_EQ(assembler_.waiting_streams(), 1u);
  Process(1, "one");
  Process(12, "", kFin);
  EXPECT_EQ(Out(), "onetwothree{end}");
  EXPECT_EQ(Count(Counter::kWaitingSegments), 2u);
  EXPECT_EQ(assembler_.waiting_streams(), 0u);
  EXPECT_EQ(assembler_.pool().used_blocks(), 0u);
}

TEST_F(TcpStreamTest, KeepsTheFirstBytesReceivedWhereSegmentsOverlap) {
  Process(0, "", kSyn);
  Process(4, "CCC");     // Bytes 4, 5, 6.
  Process(3, "xxxxxD");  // Bytes 3, 7 and 8 are new.
  EXPECT_EQ(Out(), "");
  Process(1, "ab????????EE");  // Bytes 1, 2, and those from 9, are new.
  EXPECT_EQ(Out(), "abxCCCxD??EE");
  // Delivered bytes do not change.
  Process(1, "zzzzzzzzzzzzF");
  EXPECT_EQ(Out(), "F");
}

TEST_F(TcpStreamTest, IgnoresRetransmissionsKeepAlivesAndWindowProbes) {
  Process(0, "", kSyn);
  Process(0, "", kSyn);
  Process(1, "text");
  Process(0, "", kSyn);
  Process(1, "text");
  Process(3, "xt");
  EXPECT_TRUE(Process(4, ""));  // A keep-alive precedes the next expected number.
  // A keep-alive with one byte of any value (RFC 9293 section 3.8.4).
  EXPECT_TRUE(Process(4, "\xff"));
  EXPECT_TRUE(Process(5, ""));  // Pure acknowledgements, as sent when the window is zero.
  Process(5, "!");              // A zero-window probe contains the next byte.
  Process(5, "!?");
  EXPECT_EQ(Out(), "text!?");
  EXPECT_EQ(Count(Counter::kStreams), 1u);
  EXPECT_EQ(Count(Counter::kRepeatedBytes), 4u + 2 + 1 + 1);
}

TEST_F(TcpStreamTest, GoesOnWhereSequenceNumbersWrap) {
  Process(0xfffffffd, "", kSyn);
  Process(3, "f");
  Process(0xffffffff, "bcde");
  Process(0xfffffffe, "a");
  Process(4, "", kFin);
  EXPECT_EQ(Out(), "abcdef{end}");
}

TEST_F(TcpStreamTest, GivesUpMissingBytesInTime) {
  Process(0, "", kSyn);
  Process(1, "a");
  Process(3, "c");
  Process(5, "e");
  EXPECT_EQ(Out(), "a");
  now_ += kGapCycles;
  assembler_.GiveUpLate(stream_, now_, recorder_);
  EXPECT_EQ(Out(), "");
  EXPECT_EQ(AfterWaiting(), "{gap}c");
  EXPECT_EQ(AfterWaiting(), "{gap}e");
  EXPECT_EQ(AfterWaiting(), "");
  EXPECT_EQ(Count(Counter::kGaps), 2u);
  EXPECT_EQ(Count(Counter::kGapBytes), 2u);
  // A new wait starts from zero. If the clock moves backwards, waits do not end.
  Process(7, "g");
  now_ = 5;
  assembler_.GiveUpLate(stream_, now_, recorder_);
  EXPECT_EQ(Out(), "");
}

TEST_F(TcpStreamTest, GivesUpMissingBytesWhenTheWindowEnds) {
  Process(0, "", kSyn);
  const std::string text(kWindow / 2, 'x');
  Process(2, text.substr(1));
  Process(1 + kWindow / 2, text);
  EXPECT_EQ(Out(), "");  // One byte is missing, and the window is full.
  Process(1 + kWindow, "!");
  EXPECT_EQ(Out(), "{gap}" + text + text.substr(1) + "!");
  // Bytes may also be missing before the first pending segment.
  Process(2 + kWindow + kWindow, "far");
  EXPECT_EQ(Out(), "{gap}far");
}

TEST_F(TcpStreamTest, EndsBehindMissingBytesOnlyWhenTheyAreGivenUp) {
  Process(0, "", kSyn);
  Process(4, "d", kFin);
  EXPECT_EQ(Out(), "");
  Process(1, "abc");
  EXPECT_EQ(Out(), "abcd{end}");
  stream_ = TcpStream();
  Process(0, "", kSyn);
  Process(2, "", kFin);
  EXPECT_EQ(assembler_.waiting_streams(), 1u);
  EXPECT_EQ(AfterWaiting(), "{gap}{end}");
  EXPECT_EQ(assembler_.waiting_streams(), 0u);
}

TEST_F(TcpStreamTest, TakesNothingThatIsSentAgainForNewBehindTheEnd) {
  Process(0, "", kSyn);
  Process(1, "text", kFin);
  EXPECT_EQ(Out(), "text{end}");
  EXPECT_FALSE(Process(1, "text", kFin));
  EXPECT_FALSE(Process(5, "", kFin));
  EXPECT_FALSE(Process(5, "behind"));
  EXPECT_FALSE(Process(0, "", kSyn));
  EXPECT_FALSE(Process(5, "", kRst));
  EXPECT_EQ(Out(), "");
  EXPECT_EQ(Count(Counter::kBehindEndSegments), 1u);
}

TEST_F(TcpStreamTest, DeliversNothingBehindAFinThatIsKnown) {
  Process(0, "", kSyn);
  Process(3, "cXX");
  Process(4, "", kFin);
  Process(1, "abc!!!");
  EXPECT_EQ(Out(), "abc{end}");
  EXPECT_EQ(assembler_.pool().used_blocks(), 0u);
}

TEST_F(TcpStreamTest, CountsASegmentThatExceedsAFinThatIsKnown) {
  Process(0, "", kSyn);
  Process(4, "", kFin);
  Process(1, "abc!!!");
  EXPECT_EQ(Out(), "abc{end}");
  EXPECT_EQ(Count(Counter::kBehindEndSegments), 1u);
}

TEST_F(TcpStreamTest, EndsByAResetExactlyWhereItStands) {
  Process(0, "", kSyn);
  Process(1, "text");
  EXPECT_TRUE(Process(5, "", kRst));
  EXPECT_EQ(Out(), "text{end}");
}

TEST_F(TcpStreamTest, IgnoresResetsOutsideTheWindowAndBehind) {
  Process(0, "", kSyn);
  Process(1, "text");
  for (const uint32_t sequence : {4u, 0u, 5 + kWindow + 1, 0x80000005u, 0xfffffff0u}) {
    EXPECT_FALSE(Process(sequence, "", kRst)) << sequence;
  }
  EXPECT_EQ(Count(Counter::kIgnoredResets), 5u);
  Process(5, "more");
  EXPECT_EQ(Out(), "textmore");
}

TEST_F(TcpStreamTest, EndsByAResetAheadUnlessTextFollowsBehindIt) {
  Process(0, "", kSyn);
  Process(3, "", kRst);
  Process(1, "ab");
  EXPECT_EQ(Out(), "ab{end}");
  stream_ = TcpStream();
  Process(0, "", kSyn);
  Process(3, "", kRst);
  Process(1, "abcd");  // A sender that continues was not reset.
  EXPECT_EQ(Out(), "abcd");
  EXPECT_EQ(Count(Counter::kIgnoredResets), 1u);
}

TEST_F(TcpStreamTest, DeliversWhatWaitsBeforeAReset) {
  Process(0, "", kSyn);
  Process(3, "c");
  Process(1, "", kRst);
  EXPECT_EQ(Out(), "{gap}c{end}");
  stream_ = TcpStream();
  Process(0, "", kSyn);
  Process(4, "", kFin);
  Process(1, "", kRst);  // The bytes before the FIN were not seen, so the line is torn.
  EXPECT_EQ(Out(), "{gap}{end}");
}

TEST_F(TcpStreamTest, BelievesOneSegmentFarAwayNothing) {
  Process(0, "", kSyn);
  Process(1, "a");
  for (const uint32_t sequence : {0x40000000u, 0x80000000u, 0xc0000000u, 3 + 2 * kWindow}) {
    EXPECT_FALSE(Process(sequence, "evil"));
  }
  EXPECT_EQ(Count(Counter::kOutsideSegments), 4u);
  Process(2, "b");
  EXPECT_EQ(Out(), "ab");
  // Two distant segments that are separated by a valid one are also ignored, because they are not
  // consecutive.
  Process(0x40000000, "evil");
  Process(3, "c");
  Process(0x40000004, "evil");
  EXPECT_EQ(Out(), "c");
}

// Tests the last accepted and the first rejected sequence number in each direction. A segment with
// data may begin up to two windows after the delivered bytes; for a reset, the limit is one window.
TEST_F(TcpStreamTest, DrawsItsLinesWhereTheHeaderSaysTo) {
  constexpr int32_t kAhead = kWindow, kFar = 2 * kWindow;
  const struct {
    int32_t distance;  // Distance from the first byte that has not been delivered.
    uint8_t flags;
    bool believed;
  } kEdges[] = {{-1, kRst, false},
                {0, kRst, true},
                {kAhead, kRst, true},
                {kAhead + 1, kRst, false},
                {kFar, kAck, true},
                {kFar + 1, kAck, false},
                {-TcpAssembler::kMaxBehind, kAck, true},
                {-TcpAssembler::kMaxBehind - 1, kAck, false}};
  uint64_t doubted = 0;
  for (const auto& [distance, flags, believed] : kEdges) {
    assembler_.Forget(stream_);
    Process(999, "", kSyn);
    Process(1000, "text");
    const uint32_t sequence = 1004 + static_cast<uint32_t>(distance);
    EXPECT_EQ(Process(sequence, flags == kRst ? "" : "x", flags), believed) << distance;
    doubted += !believed;
    EXPECT_EQ(Count(Counter::kOutsideSegments) + Count(Counter::kIgnoredResets), doubted);
  }
}

TEST_F(TcpStreamTest, KeepsAsManyBytesAheadAsItsWindowHas) {
  for (const uint32_t beyond : {0, 1}) {
    assembler_.Forget(stream_);
    Out();
    Process(0, "", kSyn);
    const std::string text(kWindow - 1, 'x');
    Process(2 + beyond, text);
    EXPECT_EQ(Out(), beyond == 0 ? "" : "{gap}" + text);
  }
}

TEST_F(TcpStreamTest, TakesALostStreamUpWithinAWindowOfWhereItWouldGoOn) {
  for (const auto& [distance, taken] :
       {std::pair{-1, false}, {0, true}, {int{kWindow}, true}, {int{kWindow} + 1, false}}) {
    assembler_.Forget(stream_);
    Process(0, "", kSyn);
    Process(1'000'000, "lost");
    Out();
    EXPECT_EQ(Process(1'000'004 + static_cast<uint32_t>(distance), "found"), taken) << distance;
    EXPECT_EQ(Out(), taken ? "{gap}found" : "");
  }
}

TEST_F(TcpStreamTest, TakesUpALostStreamBehindAGap) {
  Process(0, "", kSyn);
  Process(1, "a");
  Process(3, "c");
  Process(1'000'000, "lost");
  Process(1'000'004, "found");
  EXPECT_EQ(Out(), "a{gap}c{gap}found");
  EXPECT_EQ(Count(Counter::kJoinedStreams), 1u);
  Process(1'000'009, "!");
  EXPECT_EQ(Out(), "!");
  EXPECT_EQ(assembler_.waiting_streams(), 0u);
}

TEST_F(TcpStreamTest, BeginsAnewByASynAfterTheEnd) {
  Process(0, "", kSyn);
  Process(1, "one", kFin);
  Process(90'000, "", kSyn);
  Process(90'001, "two", kFin);
  EXPECT_EQ(Out(), "one{end}two{end}");
}

TEST_F(TcpStreamTest, BeginsAnewByASynOnAnOpenStreamOnceASegmentFollowsIt) {
  Process(0, "", kSyn);
  Process(1, "one");
  EXPECT_FALSE(Process(0x70000000, "", kSyn));
  EXPECT_EQ(Out(), "one");
  Process(4, "!");  // The stream continues: the SYN was forged.
  Process(0x70000001, "evil");
  EXPECT_EQ(Out(), "!");
  Process(0x70000000, "", kSyn);
  Process(0x70000001, "two");
  EXPECT_EQ(Out(), "{restart}two");
  // A SYN whose number is within the window of the previous stream also starts a new stream.
  Process(0x70000010, "", kSyn);
  Process(0x70000011, "three");
  EXPECT_EQ(Out(), "{restart}three");
}

TEST_F(TcpStreamTest, ForgetsWithWhatWaits) {
  Process(0, "", kSyn);
  Process(3, "c");
  EXPECT_EQ(assembler_.pool().used_blocks(), 1u);
  assembler_.Forget(stream_);
  EXPECT_EQ(assembler_.pool().used_blocks(), 0u);
  EXPECT_EQ(assembler_.waiting_streams(), 0u);
  Process(9, "i");
  EXPECT_EQ(Out(), "{gap}i");
}

// RFC 7323 section 2: the shift count of the SYN scales all windows except the SYN's.
TEST_F(TcpStreamTest, KeepsWhatTheReceiverAcceptsUpToHalfOfThePool) {
  const auto tell = [&](const TcpWindow& window) { assembler_.ProcessWindow(stream_, window); };
  tell({100, 9000, 0, true});  // The stream is still unknown.
  Process(99, "", kSyn);
  tell({100, 9000});  // The scale is unknown.
  EXPECT_FALSE(stream_.has_edge);
  tell({100, 5000, 7, true});
  EXPECT_EQ(stream_.edge, 5100u);
  tell({100, 512});
  EXPECT_EQ(stream_.edge, 100u + 65536);
  tell({100, 1});  // The edge of the accepted sequence numbers never moves back.
  EXPECT_EQ(stream_.edge, 100u + 65536);
  tell({100u - (20u << 20), 0xffff});  // This number is far from the stream.
  tell({100u + 200'000, 0xffff});
  EXPECT_EQ(stream_.edge, 100u + 65536);
  const std::string late(60'000, 'a'), ahead(5536, 'b');
  Process(60'100, ahead);  // A segment that extends to the edge.
  EXPECT_EQ(Out(), "");
  Process(100, late);
  EXPECT_EQ(Out(), late + ahead);
  EXPECT_EQ(Count(Counter::kGaps), 0u);
  // The edge is at least the configured window.
  Process(65'636 + 999, "c");
  EXPECT_EQ(Out(), "");
  Process(65'636 + 1000, "d");
  EXPECT_EQ(Out(), "{gap}cd");
  const uint32_t next = 65'636 + 1001;
  tell({next, 0xffff});
  Process(next + (1 << 19) - 1, "e");
  EXPECT_EQ(Out(), "") << "half of the pool is 2^19 bytes";
  Process(next + (1 << 19), "f");
  EXPECT_EQ(Out(), "{gap}ef");
  Process(7, "", kSyn | kFin);
  EXPECT_TRUE(stream_.has_edge) << "a SYN that is not believed changes nothing";
}

TEST_F(TcpStreamTest, TakesNoMoreBlocksThanItsWindowSpansHoweverSmallTheSegments) {
  TcpAssembler assembler({.pool_bytes = 1 << 20, .window = 65536, .gap_cycles = 0}, counters_);
  TcpStream stream;
  assembler.Process(stream, {0, kSyn, ""}, 0, recorder_);
  for (uint32_t sequence = 65536; sequence > 1; --sequence) {
    assembler.Process(stream, {sequence, kAck, "x"}, 0, recorder_);
  }
  EXPECT_EQ(Out(), "");
  EXPECT_LE(assembler.pool().used_blocks(), 65536 / WaitingBytes::kBlockBytes + 1);
  assembler.Process(stream, {1, kAck, "x"}, 0, recorder_);
  EXPECT_EQ(Out(), std::string(65536, 'x'));
}

TEST_F(TcpStreamTest, GoesOnBehindGapsWhenOthersFillThePool) {
  TcpAssembler assembler({.pool_bytes = 10'000, .window = 65536, .gap_cycles = 0}, counters_);
  ASSERT_LT(assembler.pool().blocks(), 5u);
  std::vector<TcpStream> hoarders(assembler.pool().blocks());
  test::Recorder ignored;
  for (TcpStream& hoarder : hoarders) {
    assembler.Process(hoarder, {0, kSyn, ""}, 0, ignored);
    assembler.Process(hoarder, {9, kAck, "x"}, 0, ignored);
  }
  EXPECT_EQ(assembler.pool().used_blocks(), assembler.pool().blocks());
  TcpStream stream;
  assembler.Process(stream, {0, kSyn, ""}, 0, recorder_);
  assembler.Process(stream, {5, kAck, "five"}, 0, recorder_);
  assembler.Process(stream, {9, kAck, "nine"}, 0, recorder_);
  EXPECT_EQ(Out(), "{gap}fivenine");
  EXPECT_EQ(Count(Counter::kNoRoomSegments), 1u);
}

/// A segment of `count` bytes from `begin`, counted from the first byte.
struct Cut {
  uint32_t begin, count;
  uint64_t arrives;
};

/// Returns segments of up to `longest` bytes that cover `bytes` bytes. Some bytes are sent again
/// with other segment boundaries, and each segment is at most `jitter` bytes late.
std::vector<Cut> Cuts(std::mt19937& random, uint32_t bytes, uint32_t jitter, uint32_t longest) {
  std::vector<Cut> cuts;
  for (uint32_t begin = 0; begin < bytes;) {
    const uint32_t count = std::min<uint32_t>(1 + random() % longest, bytes - begin);
    cuts.push_back({begin, count, begin + random() % jitter});
    if (random() % 4 == 0) {
      const uint32_t before = std::min(begin, static_cast<uint32_t>(random() % 200));
      const uint32_t again = std::min<uint32_t>(1 + random() % longest, bytes - begin + before);
      cuts.push_back({begin - before, again, begin - before + random() % jitter});
    }
    begin += count;
  }
  std::stable_sort(cuts.begin(), cuts.end(),
                   [](const Cut& a, const Cut& b) { return a.arrives < b.arrives; });
  return cuts;
}

class TcpStreamProperty : public testing::TestWithParam<double> {};

TEST_P(TcpStreamProperty, DeliversTheStreamWithGapsExactlyWhereBytesAreMissing) {
  std::mt19937 random(11);
  const double loss = GetParam();
  uint64_t all_holes = 0;
  for (int round = 0; round < 60; ++round) {
    constexpr uint32_t kBytes = 100'000, kLongest = 3000, kWide = 20'000;
    SourceCounters counters;
    TcpAssembler assembler({.pool_bytes = 1 << 20, .window = kWide, .gap_cycles = 1}, counters);
    TcpStream stream;
    test::Witness witness{stream};
    // In half of the rounds, the sequence numbers wrap.
    const uint32_t first = round % 2 == 0 ? 0u - random() % kBytes : random();
    assembler.Process(stream, {first - 1, kSyn, ""}, 0, witness);
    std::vector<bool> arrived(kBytes);
    for (const Cut& cut : Cuts(random, kBytes, kWide - kLongest, kLongest)) {
      if (random() < loss * static_cast<double>(std::mt19937::max())) continue;
      std::fill_n(arrived.begin() + cut.begin, cut.count, true);
      const std::string text = test::BytesOf(first + cut.begin, cut.count);
      assembler.Process(stream, {first + cut.begin, kAck, text}, 0, witness);
    }
    assembler.Process(stream, {first + kBytes, kAck | kFin, ""}, 0, witness);
    for (uint64_t now = 10; stream.IsWaiting() && now < 10'000; now += 10) {
      assembler.GiveUpLate(stream, now, witness);
    }
    uint64_t missing = 0, holes = 0;
    for (uint32_t i = 0; i < kBytes; ++i) {
      missing += !arrived[i];
      holes += !arrived[i] && (i == 0 || arrived[i - 1]);
    }
    all_holes += holes;
    EXPECT_TRUE(witness.Holds());
    EXPECT_EQ(witness.bytes, kBytes - missing);
    EXPECT_EQ(witness.gaps, holes);
    EXPECT_EQ(witness.ends, 1u);
    EXPECT_EQ(counters.Load(Counter::kGapBytes), missing);
    EXPECT_EQ(assembler.pool().used_blocks(), 0u);
    EXPECT_EQ(assembler.waiting_streams(), 0u);
  }
  EXPECT_EQ(all_holes > 20, loss != 0);
}
INSTANTIATE_TEST_SUITE_P(Losses, TcpStreamProperty, testing::Values(0.0, 0.01, 0.2));

TEST(TcpStream, NeverJoinsBytesAcrossWhatAFullPoolLost) {
  std::mt19937 random(12);
  for (int round = 0; round < 40; ++round) {
    SourceCounters counters;
    TcpAssembler assembler({.pool_bytes = 8000, .window = 65536, .gap_cycles = 1}, counters);
    std::vector<TcpStream> streams(4);
    std::vector<test::Witness> witnesses;
    for (const TcpStream& stream : streams) witnesses.push_back({stream});
    const uint32_t first = random();
    for (uint32_t i = 0; i < streams.size(); ++i) {
      assembler.Process(streams[i], {first - 1, kSyn, ""}, 0, witnesses[i]);
    }
    for (const Cut& cut : Cuts(random, 200'000, 30'000, 2000)) {
      const uint32_t i = random() % streams.size();
      const std::string text = test::BytesOf(first + cut.begin, cut.count);
      assembler.Process(streams[i], {first + cut.begin, kAck, text}, 0, witnesses[i]);
    }
    for (uint32_t i = 0; i < streams.size(); ++i) {
      EXPECT_TRUE(witnesses[i].Holds());
      EXPECT_GT(witnesses[i].bytes, 0u);
      assembler.Forget(streams[i]);
    }
    EXPECT_GT(counters.Load(Counter::kNoRoomSegments), 0u);
    EXPECT_EQ(assembler.pool().used_blocks(), 0u);
  }
}

}  // namespace
}  // namespace sluice::engine::logmon
