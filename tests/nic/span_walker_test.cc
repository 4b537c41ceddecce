// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the walk over contiguous bytes with a naive walk, frame by frame and span by span, for
// arbitrary bytes. The engine must see the same frames, the outcomes must be equal, and every byte
// must be returned exactly once and in order.
#include "nic/span_walker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "contracts.h"
#include "frames.h"

namespace sluice::nic {
namespace {

using namespace nic_test;
using packet::Frame;
using packet::Verdict;

// What the engine below does with a frame; selected by the frame's first byte.
enum Order : uint8_t { kPass, kLeave, kEat, kDiscard, kHalve, kShave, kStrip, kOrders };

// Executes the frame's order and records a copy of the frame.
class ByOrder : public packet::Engine {
 public:
  Verdict Process(Frame& frame, uint64_t /*now*/) {
    seen.emplace_back(frame.data, frame.data + frame.length);
    EXPECT_EQ(frame.headroom, 0u);
    EXPECT_EQ((frame.length + frame.tailroom) % 64, 0u);
    switch (frame.data[0]) {
      case kLeave:
        break;
      case kEat:
        return packet::kConsume;
      case kDiscard:
        return packet::Drop(3);
      case kHalve:
        SetLength(frame, std::max(frame.length / 2, 34u));
        break;
      case kShave:
        SetLength(frame, frame.length - 1);
        break;
      case kStrip:
        frame.data += 4;
        frame.length -= 4;
        break;
      default:
        ++frame.data[frame.length - 1];
    }
    return packet::kForward;
  }
  std::vector<Bytes> seen;

 private:
  static void SetLength(Frame& frame, uint32_t length) {
    frame.length = length;
    frame.data[16] = static_cast<uint8_t>((length - 14) >> 8);
    frame.data[17] = static_cast<uint8_t>(length - 14);
  }
};

struct Scripted final : ByOrder {
  // AddressSanitizer checks that all bytes are readable.
  void Prepare(const uint8_t* frame, uint32_t length) override {
    prepared += frame[0] + frame[length - 1];
  }
  uint64_t prepared = 0;
};
static_assert(packet::PreparingEngine<Scripted>);

// Without Prepare, frames of one length are walked without looking ahead.
struct Unprepared final : ByOrder {};
static_assert(!packet::PreparingEngine<Unprepared>);

// Pipes that record each operation on their bytes.
class RecordingPipes {
 public:
  static constexpr uint32_t kMaxFrameBytes = 1536;

  struct Pipe {
    Bytes memory;
    uint32_t given_back = 0;
    // Sent frames. A run is split by the IPv4 lengths, as a transmitter splits it.
    std::vector<Bytes> sent;
  };

  Span Arrive(Bytes bytes) {
    pipes.push_back(std::make_unique<Pipe>());
    pipes.back()->memory = std::move(bytes);
    pipes.back()
        ->memory.shrink_to_fit();  // AddressSanitizer protects the byte after the notified tail.
    return {static_cast<uint32_t>(pipes.size() - 1), pipes.back()->memory.data(),
            static_cast<uint32_t>(pipes.back()->memory.size())};
  }

  FrameTotals Send(uint32_t index, const uint8_t* data, uint32_t bytes, uint32_t release_bytes) {
    Pipe& pipe = *pipes[index];
    EXPECT_GT(bytes, 0u);
    EXPECT_LE(bytes, release_bytes);
    EXPECT_EQ(data + bytes, pipe.memory.data() + pipe.given_back + release_bytes);
    Release(index, release_bytes);
    longest_run = std::max(longest_run, bytes);
    if (refuse_sends) return CountFrames(data, bytes);
    for (uint32_t at = 0; at < bytes;) {
      const uint32_t length = 14u + (data[at + 16] << 8 | data[at + 17]);
      sent_frame(pipe, data + at, length);
      at += FlitBytes(length);
      EXPECT_LE(at, bytes) << "a run must end where its last frame ends";
    }
    return {};
  }
  void Release(uint32_t index, uint32_t bytes) {
    Pipe& pipe = *pipes[index];
    EXPECT_GT(bytes, 0u);
    EXPECT_EQ(bytes % 64, 0u);
    pipe.given_back += bytes;
    EXPECT_LE(pipe.given_back, pipe.memory.size());
  }
  // Every other copy can be built in place.
  uint8_t* spare() { return copies.size() % 2 == 0 ? spare_.data() : nullptr; }
  bool SendBuilt(uint32_t length) {
    EXPECT_NE(spare(), nullptr);
    if (copies.size() % 6 == 0) return false;
    copies.emplace_back(spare_.data(), spare_.data() + length);
    ++built;
    return true;
  }
  SendResult SendCopy(const uint8_t* frame, uint32_t length) {
    if (length < 34 || frame[12] != 8 || frame[13] != 0 ||
        FlitBytes(14u + (frame[16] << 8 | frame[17])) != FlitBytes(length)) {
      return SendResult::kUnframeable;
    }
    copies.emplace_back(frame, frame + length);
    if (copies.size() % 7 == 0) return SendResult::kFull;
    left.push_back(copies.back());
    return SendResult::kSent;
  }

  std::vector<std::unique_ptr<Pipe>> pipes;
  std::vector<Bytes> copies;
  std::vector<Bytes> left;  // Sent copies, and the frames of sent runs.
  uint32_t longest_run = 0;
  uint32_t built = 0;  // Copies sent with SendBuilt.
  bool refuse_sends = false;

 private:
  Bytes spare_ = Bytes(Frame::kSpareBytes);
  void sent_frame(Pipe& pipe, const uint8_t* data, uint32_t length) {
    pipe.sent.emplace_back(data, data + length);
    left.push_back(pipe.sent.back());
  }
};
static_assert(PipeSet<RecordingPipes>);

// The expected result of a walk over one span, computed naively.
struct Expected {
  std::vector<Bytes> frames;
  uint64_t desync_flits = 0;
};

Expected NaiveWalk(const Bytes& span) {
  Expected expected;
  for (size_t at = 0; at < span.size();) {
    const uint32_t length = packet::FrameLength(span.data() + at);
    if (length == 0 || length > 1536) {
      ++expected.desync_flits;
      at += 64;
    } else if (FlitBytes(length) > span.size() - at) {
      expected.desync_flits += (span.size() - at) / 64;
      break;
    } else {
      expected.frames.emplace_back(span.begin() + at, span.begin() + at + length);
      at += FlitBytes(length);
    }
  }
  return expected;
}

Bytes RandomFrame(std::mt19937& random, bool orders) {
  const uint32_t length = 64 + random() % 1450;
  Bytes frame;
  switch (random() % 12) {
    case 0:
      frame = ArpFrame();
      break;
    case 1:
      frame = Ipv6Frame(length);
      break;
    case 2:
      frame = VlanFrame(length);
      break;
    case 3:
      frame = Ipv4Frame(64);
      break;
    default:
      frame = Ipv4Frame(length);
  }
  const bool plain = frame[12] == 8 && frame[13] == 0;
  frame[0] = static_cast<uint8_t>(random() % (orders ? kOrders : kEat));
  if (!plain && frame[0] >= kHalve) frame[0] = kPass;
  return frame;
}

Bytes RandomSpan(std::mt19937& random, uint32_t frames, bool orders, bool lies) {
  Bytes span;
  for (uint32_t i = 0; i < frames; ++i) {
    Bytes frame = RandomFrame(random, orders);
    if (lies && random() % 8 == 0) frame[12 + random() % 8] ^= static_cast<uint8_t>(random());
    Append(span, frame);
  }
  return span;
}

std::string Text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

template <typename Walker, typename Engine>
uint32_t WalkBy(Contract contract, Walker& walker, const std::vector<Span>& spans, Engine& engine) {
  return By(contract, engine, [&](auto& worker) { return walker.Walk(spans, worker, 0); });
}

// Walks `spans` and compares all results with those of the naive walk.
template <typename Engine>
void Check(Contract contract, const std::vector<Bytes>& spans) {
  RecordingPipes pipes;
  QueueCounters counters;
  ExceptionPath no_exception;
  SpanWalker walker(pipes, no_exception, counters);
  Engine engine;
  std::vector<Span> arrived;
  std::map<std::string, int> frames;
  uint64_t bytes = 0, count = 0, desync = 0;
  for (const Bytes& span : spans) {
    const Expected expected = NaiveWalk(span);
    for (const Bytes& frame : expected.frames) {
      ++frames[Text(frame)];
      ++count;
      bytes += frame.size();
    }
    desync += expected.desync_flits;
    arrived.push_back(pipes.Arrive(span));
  }
  EXPECT_EQ(WalkBy(contract, walker, arrived, engine), count);
  EXPECT_EQ(counters.rx_pkts, count);
  EXPECT_EQ(counters.rx_bytes, bytes);
  EXPECT_EQ(counters.rx_desync, desync);
  EXPECT_TRUE(counters.Conserved());

  std::map<std::string, int> seen;
  for (const Bytes& frame : engine.seen) ++seen[Text(frame)];
  EXPECT_EQ(seen, frames);

  uint64_t sent_pkts = 0, sent_bytes = 0;
  for (const auto& pipe : pipes.pipes) {
    EXPECT_EQ(pipe->given_back, pipe->memory.size());
    for (const Bytes& frame : pipe->sent) sent_bytes += frame.size();
    sent_pkts += pipe->sent.size();
  }
  for (size_t i = 0; i < pipes.copies.size(); ++i) {
    if ((i + 1) % 7 == 0) continue;
    ++sent_pkts;
    sent_bytes += pipes.copies[i].size();
  }
  EXPECT_EQ(counters.tx_pkts, sent_pkts);
  EXPECT_EQ(counters.tx_bytes, sent_bytes);
  EXPECT_EQ(counters.tx_full, pipes.copies.size() / 7);
}
void Check(const std::vector<Bytes>& spans) {
  for (const Contract contract : {Contract::kFrames, Contract::kBursts, Contract::kSparing}) {
    Check<Scripted>(contract, spans);
  }
  Check<Unprepared>(Contract::kFrames, spans);
}

TEST(SpanWalker, AgreesWithTheNaiveWalkOnHonestTraffic) {
  std::mt19937 random(1);
  for (uint32_t count = 1; count <= 20; ++count) {
    for (int round = 0; round < 10; ++round) {
      std::vector<Bytes> spans;
      for (uint32_t i = 0; i < count; ++i) {
        spans.push_back(RandomSpan(random, 1 + random() % 60, round % 2 == 1, false));
      }
      Check(spans);
    }
  }
}

TEST(SpanWalker, AgreesWithTheNaiveWalkOnFramesOfOneSize) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Bytes> spans(1 + random() % 10);
    for (Bytes& span : spans) {
      for (uint32_t rows = 1 + random() % 3; rows > 0; --rows) {
        const uint32_t length = 60 + random() % 1455, frames = 1 + random() % 100;
        for (uint32_t i = 0; i < frames; ++i) {
          Bytes frame = Ipv4Frame(length);
          // 0 is kPass.
          frame[0] = static_cast<uint8_t>(random() % 8 == 0 ? random() % kOrders : 0);
          frame[15] = static_cast<uint8_t>(random());  // Type of service.
          PutBe16(frame, 18, random() & 0xffff);       // Identification.
          Append(span, frame);
        }
      }
      if (round % 4 == 0) span.resize(span.size() - 64);
    }
    Check(spans);
  }
}

TEST(SpanWalker, AgreesWithTheNaiveWalkWhenHeadersLie) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<Bytes> spans;
    for (int i = 0; i <= round % 10; ++i) {
      spans.push_back(RandomSpan(random, 1 + random() % 40, false, true));
    }
    Check(spans);
  }
}

TEST(SpanWalker, NeverPassesTheTailWhereverASpanIsCut) {
  std::mt19937 random(3);
  const Bytes whole = RandomSpan(random, 12, false, false);
  for (size_t flits = 1; flits <= whole.size() / 64; ++flits) {
    const Bytes cut(whole.begin(), whole.begin() + flits * 64);
    Check({cut});
    Check({cut, whole, cut, whole, cut});
    Check({whole, cut, cut, whole, cut, cut, whole, cut, whole, cut, whole});
  }
}

TEST(SpanWalker, SurvivesBytesWithoutAnyFrame) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    Bytes noise(64 * (1 + random() % 50));
    std::generate(noise.begin(), noise.end(), [&] { return static_cast<uint8_t>(random()); });
    for (size_t i = 0; i < noise.size(); i += 64) noise[i] = kPass;
    if (round % 2 == 0) std::fill(noise.begin(), noise.end(), 0);
    Check({noise, noise});
  }
}

class SpanWalkerBy : public testing::TestWithParam<Contract> {};
INSTANTIATE_TEST_SUITE_P(Contracts, SpanWalkerBy, kContracts, NameOf);

TEST_P(SpanWalkerBy, FramesThatStayAndLeaveAreOneRun) {
  Bytes span;
  for (int i = 0; i < 10; ++i) Append(span, Ipv4Frame(60 + i * 50));
  RecordingPipes pipes;
  QueueCounters counters;
  ExceptionPath no_exception;
  SpanWalker walker(pipes, no_exception, counters);
  Scripted engine;
  const std::vector<Span> spans = {pipes.Arrive(span)};
  WalkBy(GetParam(), walker, spans, engine);
  EXPECT_EQ(pipes.longest_run, span.size());
  EXPECT_EQ(counters.tx_pkts, 10u);
}

TEST_P(SpanWalkerBy, RunsAreSentBeforeTheyOutgrowTheCache) {
  Bytes span;
  for (int i = 0; i < 40000; ++i) Append(span, Ipv4Frame(60));
  RecordingPipes pipes;
  QueueCounters counters;
  ExceptionPath no_exception;
  SpanWalker walker(pipes, no_exception, counters);
  Scripted engine;
  const std::vector<Span> spans = {pipes.Arrive(span), pipes.Arrive(span)};
  WalkBy(GetParam(), walker, spans, engine);
  EXPECT_LE(pipes.longest_run, SpanWalker<RecordingPipes>::kRunBytes + 1536);
  EXPECT_EQ(counters.tx_pkts, 80000u);
}

TEST_P(SpanWalkerBy, FramesOfOnePipeReachTheEngineInOrder) {
  std::mt19937 random(5);
  std::vector<Bytes> spans;
  RecordingPipes pipes;
  std::vector<Span> arrived;
  for (uint8_t pipe = 0; pipe < 6; ++pipe) {
    Bytes span;
    for (uint32_t i = 0; i < 100 + random() % 100; ++i) {
      Bytes frame = Ipv4Frame(64 + random() % 1000);
      frame[1] = pipe;
      PutBe16(frame, 2, i);
      Append(span, frame);
    }
    arrived.push_back(pipes.Arrive(span));
  }
  QueueCounters counters;
  ExceptionPath no_exception;
  SpanWalker walker(pipes, no_exception, counters);
  Scripted engine;
  WalkBy(GetParam(), walker, arrived, engine);
  std::map<int, int> next;
  for (const Bytes& frame : engine.seen) {
    EXPECT_EQ(next[frame[1]]++, frame[2] << 8 | frame[3]);
  }
}

// Records, for each frame, how many frames in advance it was prepared.
class Foresight final : public packet::Engine {
 public:
  void Prepare(const uint8_t* frame, uint32_t length) override { prepared_[frame] = length; }
  Verdict Process(Frame& frame, uint64_t /*now*/) {
    const auto found = prepared_.find(frame.data);
    unprepared += found == prepared_.end() || found->second != frame.length;
    ahead.push_back(prepared_.size() - ++processed_);
    return packet::kForward;
  }
  std::vector<size_t> ahead;
  uint32_t unprepared = 0;

 private:
  std::map<const uint8_t*, uint32_t> prepared_;
  size_t processed_ = 0;
};

TEST(SpanWalker, FramesOfALonePipeArePreparedWholeAndWellAhead) {
  Bytes span;
  for (int i = 0; i < 100; ++i) Append(span, Ipv4Frame(60 + i * 5));
  RecordingPipes pipes;
  QueueCounters counters;
  ExceptionPath no_exception;
  SpanWalker walker(pipes, no_exception, counters);
  Foresight engine;
  const std::vector<Span> spans = {pipes.Arrive(span)};
  walker.Walk(spans, engine, 0);
  ASSERT_EQ(engine.ahead.size(), 100u);
  EXPECT_EQ(engine.unprepared, 0u);
  for (size_t i = 0; i < 90; ++i) EXPECT_EQ(engine.ahead[i], 8u) << "frame " << i;
}

// Prepends 20 bytes to the IPv4 packet. Uses the spare buffer if there is one, and a private buffer
// otherwise.
struct Wrapper final : packet::Engine {
  Verdict Process(Frame& frame, uint64_t /*now*/) {
    uint8_t* const start = frame.spare != nullptr ? frame.spare : room.data();
    std::copy_n(frame.data, 34, start);
    std::copy_n(frame.data + 14, frame.length - 14, start + 34);
    frame.data = start;
    frame.length += 20;
    start[16] = static_cast<uint8_t>((frame.length - 14) >> 8);
    start[17] = static_cast<uint8_t>(frame.length - 14);
    return packet::kForward;
  }
  Bytes room = Bytes(2000);
};

TEST_P(SpanWalkerBy, AFrameMayBeBuiltWhereItsCopyWillLie) {
  Bytes span;
  std::vector<Bytes> expected;
  for (uint32_t i = 0; i < 40; ++i) {
    const Bytes frame = Ipv4Frame(60 + i * 30);
    Append(span, frame);
    Bytes grown(frame.begin(), frame.begin() + 34);
    grown.insert(grown.end(), frame.begin() + 14, frame.end());
    PutBe16(grown, 16, static_cast<uint32_t>(grown.size() - 14));
    expected.push_back(grown);
  }
  RecordingPipes pipes;
  QueueCounters counters;
  ExceptionPath no_exception;
  SpanWalker walker(pipes, no_exception, counters);
  Wrapper engine;
  const std::vector<Span> spans = {pipes.Arrive(span)};
  EXPECT_EQ(WalkBy(GetParam(), walker, spans, engine), 40u);
  EXPECT_EQ(pipes.copies, expected);
  // Every other copy is built in place, except those that the pipes reject (one in six).
  EXPECT_EQ(pipes.built, 13u);
  // One in seven of the remaining frames does not fit.
  uint64_t bytes = 0;
  for (const Bytes& frame : expected) bytes += frame.size();
  for (const size_t full : {6, 13, 27}) bytes -= expected[full].size();
  EXPECT_EQ(counters.tx_full, 3u);
  EXPECT_EQ(counters.tx_pkts, 37u);
  EXPECT_EQ(counters.tx_bytes, bytes);
  EXPECT_EQ(pipes.pipes[0]->given_back, span.size());
  EXPECT_TRUE(counters.Conserved());
}

// Sends copies of a frame before its answer. The frame's last byte is the number of copies.
struct Repeating final : packet::Engine {
  void set_outbox(packet::Outbox given) override { outbox = given; }
  Verdict Process(Frame& frame, uint64_t) {
    Bytes copy(frame.data, frame.data + frame.length);
    const uint8_t pipe = copy[0];
    for (copy[1] = 1; copy[1] <= copy.back(); ++copy[1]) {
      if (outbox.Send(copy.data(), frame.length)) order[pipe].push_back(copy);
    }
    copy[1] = 0;
    order[pipe].push_back(copy);
    return packet::kForward;
  }
  packet::Outbox outbox;
  std::map<uint8_t, std::vector<Bytes>> order;  // Keys are the frames' first bytes.
};

TEST(SpanWalker, FramesThatAnEngineSendsLeaveBehindTheAnswersToFramesBefore) {
  for (const Contract contract : {Contract::kFrames, Contract::kBursts}) {
    for (const uint32_t count : {1u, 3u, 8u, 20u}) {
      std::mt19937 random(count);
      RecordingPipes pipes;
      std::vector<Span> spans;
      for (uint32_t pipe = 0; pipe < count; ++pipe) {
        Bytes span;
        for (uint32_t i = random() % 200; i < 200; ++i) {
          Bytes frame = Ipv4Frame(60 + random() % 900);
          frame[0] = static_cast<uint8_t>(pipe);
          frame[1] = 0;
          frame[2] = static_cast<uint8_t>(i);
          frame.back() = random() % 8 == 0 ? 2 : 0;
          Append(span, frame);
        }
        spans.push_back(pipes.Arrive(span));
      }
      QueueCounters counters;
      ExceptionPath no_exception;
      SpanWalker walker(pipes, no_exception, counters);
      struct {
        bool Send(const uint8_t* frame, uint32_t length) {
          ++counters->sent_pkts;
          return walker->SendCopy(frame, length);
        }
        SpanWalker<RecordingPipes>* walker;
        QueueCounters* counters;
      } out{&walker, &counters};
      Repeating engine;
      engine.set_outbox(packet::Outbox::To(out));
      WalkBy(contract, walker, spans, engine);
      std::map<uint8_t, std::vector<Bytes>> left;
      for (const Bytes& frame : pipes.left) left[frame[0]].push_back(frame);
      EXPECT_EQ(left, engine.order) << count;
      EXPECT_TRUE(counters.Conserved());
    }
  }
}

TEST_P(SpanWalkerBy, FramesTheNicCannotCutStayOutOfRuns) {
  Bytes span;
  Append(span, Ipv4Frame(100));
  Append(span, ArpFrame());
  Append(span, Ipv6Frame(200));
  Append(span, VlanFrame(300));
  Append(span, Ipv4Frame(100));
  RecordingPipes pipes;
  QueueCounters counters;
  ExceptionPath no_exception;
  SpanWalker walker(pipes, no_exception, counters);
  Scripted engine;
  const std::vector<Span> spans = {pipes.Arrive(span)};
  EXPECT_EQ(WalkBy(GetParam(), walker, spans, engine), 5u);
  EXPECT_EQ(counters.tx_unframeable, 3u);
  EXPECT_EQ(counters.tx_pkts, 2u);
  EXPECT_EQ(counters.rx_desync, 0u);
}

TEST_P(SpanWalkerBy, ARunThatCannotBeSentIsCountedFrameByFrame) {
  std::mt19937 random(6);
  Bytes span;
  for (int i = 0; i < 50; ++i) Append(span, Ipv4Frame(64 + random() % 1000));
  RecordingPipes pipes;
  pipes.refuse_sends = true;
  QueueCounters counters;
  ExceptionPath no_exception;
  SpanWalker walker(pipes, no_exception, counters);
  Scripted engine;
  const std::vector<Span> spans = {pipes.Arrive(span), pipes.Arrive(span), pipes.Arrive(span),
                                   pipes.Arrive(span)};
  WalkBy(GetParam(), walker, spans, engine);
  EXPECT_EQ(counters.tx_full, 200u);
  EXPECT_EQ(counters.tx_pkts, 0u);
  EXPECT_EQ(counters.tx_bytes, 0u);
}

}  // namespace
}  // namespace sluice::nic
