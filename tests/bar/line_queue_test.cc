// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the one-way queue over a window: each item is received once and in order, or Push rejects
// and counts it.
#include "bar/line_queue.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "bar/shm_window.h"
#include "bar/window_trace.h"

namespace sluice::bar {
namespace {

Line Item(uint64_t number) {
  Line line;
  for (uint64_t i = 1; i < 8; ++i) line.word[i] = number * 10 + i;
  return line;
}
/// Returns the line that the consumer pops for Item(number).
Line PoppedItem(uint64_t number) {
  Line line = Item(number);
  line.word[0] = number;
  return line;
}

class LineQueue : public testing::Test {
 protected:
  static constexpr LineQueuePlace kPlace{3, 8};
  ShmWindow host_ = ShmWindow::Create(16, WindowSide::kHost);
  ShmWindow nic_ = host_.Peer();
};

TEST_F(LineQueue, ItemsComeOnceAndInOrder) {
  LineQueueProducer producer(host_, kPlace);
  LineQueueConsumer consumer(nic_, kPlace);
  Line item;
  EXPECT_FALSE(consumer.Pop(item));
  for (uint64_t n = 1; n <= 100; ++n) {
    ASSERT_TRUE(producer.Push(Item(n)));
    ASSERT_TRUE(consumer.Pop(item));
    EXPECT_EQ(item, PoppedItem(n));
    EXPECT_FALSE(consumer.Pop(item)) << "once";
  }
  EXPECT_EQ(producer.overflows(), 0u);
  EXPECT_EQ(consumer.faults(), 0u);
}

TEST_F(LineQueue, RunsFromTheNicToTheHostToo) {
  LineQueueProducer producer(nic_, kPlace);
  LineQueueConsumer consumer(host_, kPlace);
  Line item;
  for (uint64_t n = 1; n <= 20; ++n) {
    ASSERT_TRUE(producer.Push(Item(n)));
    ASSERT_TRUE(consumer.Pop(item));
    EXPECT_EQ(item, PoppedItem(n));
  }
}

TEST_F(LineQueue, StaysWithinItsPairs) {
  LineQueueProducer producer(host_, kPlace);
  LineQueueConsumer consumer(nic_, kPlace);
  Line item;
  for (uint64_t n = 1; n <= 50; ++n) {
    producer.Push(Item(n));
    consumer.Pop(item);
  }
  for (uint32_t i = 0; i < 16; ++i) {
    const bool within = i >= kPlace.first && i < kPlace.first + kPlace.depth;
    EXPECT_EQ(nic_.Peek(i) != 0, within) << i;
    EXPECT_EQ(host_.Peek(i) != 0, i == kPlace.first) << i;
  }
}

// The producer is never blocked.
TEST_F(LineQueue, AFullRingRefusesAndCounts) {
  LineQueueProducer producer(host_, kPlace);
  LineQueueConsumer consumer(nic_, kPlace);
  for (uint64_t n = 1; n <= 8; ++n) ASSERT_TRUE(producer.Push(Item(n)));
  EXPECT_FALSE(producer.Push(Item(9)));
  EXPECT_FALSE(producer.Push(Item(9)));
  EXPECT_EQ(producer.overflows(), 2u);
  EXPECT_EQ(producer.sent(), 8u);
  Line item;
  // The consumer publishes its progress once per quarter of the ring: every 2 items.
  ASSERT_TRUE(consumer.Pop(item));
  EXPECT_FALSE(producer.Push(Item(9)));
  ASSERT_TRUE(consumer.Pop(item));
  EXPECT_TRUE(producer.Push(Item(9)));
  EXPECT_TRUE(producer.Push(Item(10)));
  EXPECT_FALSE(producer.Push(Item(11)));
  for (uint64_t n = 3; n <= 10; ++n) {
    ASSERT_TRUE(consumer.Pop(item));
    EXPECT_EQ(item, PoppedItem(n));
  }
}

TEST_F(LineQueue, EveryDepthEmptiesAndFillsUp) {
  for (const uint32_t depth : {1u, 2u, 3u, 5u, 16u}) {
    ShmWindow host = ShmWindow::Create(16, WindowSide::kHost);
    ShmWindow nic = host.Peer();
    LineQueueProducer producer(host, {0, depth});
    LineQueueConsumer consumer(nic, {0, depth});
    Line item;
    uint64_t popped = 0;
    for (int round = 0; round < 5; ++round) {
      while (producer.Push(Item(producer.sent() + 1))) {
      }
      while (consumer.Pop(item)) EXPECT_EQ(item, PoppedItem(++popped));
      EXPECT_EQ(popped, producer.sent()) << depth;
    }
    // Each round fills all slots except those of popped items whose removal the consumer has not
    // published yet. These are fewer than a quarter of the ring, rounded up.
    EXPECT_GE(popped, 5 * (depth - (depth + 3) / 4 + 1)) << depth;
  }
}

// Checks the PCIe traffic of Wave's event queue: one line per item, and one write of the consumer's
// progress per quarter of the ring.
TEST_F(LineQueue, PostsOneLineAnItem) {
  WindowTrace trace({});
  TracedWindow host(host_, trace, WindowSide::kHost);
  TracedWindow nic(nic_, trace, WindowSide::kNic);
  LineQueueProducer producer(host, kPlace);
  LineQueueConsumer consumer(nic, kPlace);
  Line item;
  for (uint64_t n = 1; n <= 80; ++n) {
    ASSERT_TRUE(producer.Push(Item(n)));
    ASSERT_TRUE(consumer.Pop(item));
  }
  EXPECT_EQ(trace.bytes(), (LinkBytes{80 * 88, 40 * 88}));
}

TEST_F(LineQueue, LinesMayArriveInAnyOrder) {
  LineQueueConsumer consumer(nic_, kPlace);
  Line item;
  for (const uint64_t n : {3, 2}) host_.Post(kPlace.first + n - 1, PoppedItem(n));
  EXPECT_FALSE(consumer.Pop(item));
  host_.Post(kPlace.first, PoppedItem(1));
  for (uint64_t n = 1; n <= 3; ++n) {
    ASSERT_TRUE(consumer.Pop(item));
    EXPECT_EQ(item, PoppedItem(n));
  }
}

TEST_F(LineQueue, NumbersThatCannotBeAreCountedAndNotBelieved) {
  LineQueueProducer producer(host_, kPlace);
  LineQueueConsumer consumer(nic_, kPlace);
  Line item, lie;
  lie.word[0] = 77;
  host_.Post(kPlace.first, lie);
  EXPECT_FALSE(consumer.Pop(item));
  EXPECT_EQ(consumer.faults(), 1u);

  for (uint64_t n = 1; n <= 8; ++n) ASSERT_TRUE(producer.Push(Item(n)));
  nic_.Post(kPlace.first, lie);  // Claims more items than were sent.
  EXPECT_FALSE(producer.Push(Item(9)));
  EXPECT_EQ(producer.faults(), 1u);
  lie.word[0] = 6;
  nic_.Post(kPlace.first, lie);
  EXPECT_TRUE(producer.Push(Item(9)));
  for (uint64_t n = 10; n <= 14; ++n) ASSERT_TRUE(producer.Push(Item(n)));
  lie.word[0] = 5;  // Moves backwards.
  nic_.Post(kPlace.first, lie);
  EXPECT_FALSE(producer.Push(Item(15)));
  EXPECT_EQ(producer.faults(), 2u);
}

/// Calls `meanwhile` between reading a word and returning it. This simulates another thread that
/// runs during the access, as can happen in virtual time.
class InterruptibleWindow {
 public:
  explicit InterruptibleWindow(ShmWindow& window) : window_(&window) {}
  uint32_t lines() const { return window_->lines(); }
  uint32_t capabilities() const { return window_->capabilities(); }
  void Post(uint32_t index, const Line& line) { window_->Post(index, line); }
  uint64_t Peek(uint32_t index) {
    const uint64_t seen = window_->Peek(index);
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    return seen;
  }
  bool Poll(uint32_t index, Line& out) { return window_->Poll(index, out); }
  uint64_t ReadUncached(uint32_t index, uint32_t word) {
    return window_->ReadUncached(index, word);
  }
  void Flush() { window_->Flush(); }
  void Interrupt(uint32_t index) { window_->Interrupt(index); }

  std::function<void()> meanwhile;  ///< Called once, during the next Peek.

 private:
  ShmWindow* window_;
};

TEST_F(LineQueue, ProgressThatIsReadLateDoesNotTakeRoomBack) {
  InterruptibleWindow host(host_);
  LineQueueProducer producer(host, kPlace);
  LineQueueConsumer consumer(nic_, kPlace);
  Line item;
  for (uint64_t n = 1; n <= 8; ++n) ASSERT_TRUE(producer.Push(Item(n)));
  for (uint64_t n = 1; n <= 2; ++n) ASSERT_TRUE(consumer.Pop(item));
  host.meanwhile = [&] {  // Runs after the Peek that read 2.
    for (uint64_t n = 3; n <= 6; ++n) ASSERT_TRUE(consumer.Pop(item));
    EXPECT_EQ(producer.Room(), 6u);
    ASSERT_TRUE(producer.Push(Item(9)));
  };
  EXPECT_EQ(producer.Room(), 5u);
  for (uint64_t n = 10; n <= 14; ++n) EXPECT_TRUE(producer.Push(Item(n)));
  EXPECT_FALSE(producer.Push(Item(15)));
  EXPECT_EQ(producer.faults(), 0u) << "nobody lied";
}

TEST_F(LineQueue, ADeadLinkIsNoFault) {
  LineQueueProducer producer(host_, kPlace);
  LineQueueConsumer consumer(nic_, kPlace);
  Line dead, item;
  dead.word.fill(~uint64_t{0});
  host_.Post(kPlace.first, dead);
  nic_.Post(kPlace.first, dead);
  EXPECT_FALSE(consumer.Pop(item));
  EXPECT_EQ(consumer.faults(), 0u);
  for (uint64_t n = 1; n <= 8; ++n) ASSERT_TRUE(producer.Push(Item(n)));
  EXPECT_FALSE(producer.Push(Item(9)));
  EXPECT_EQ(producer.faults(), 0u);
}

TEST(LineQueueConcurrent, TwoThreadsLoseAndRepeatNothing) {
  constexpr uint64_t kItems = 20'000;
  ShmWindow host = ShmWindow::Create(16, WindowSide::kHost);
  ShmWindow nic = host.Peer();
  const LineQueuePlace place{0, 16};
  std::vector<uint64_t> plain(kItems + 1);  // In plain memory, only the queue orders the accesses.
  std::thread sender([&] {
    LineQueueProducer producer(host, place);
    for (uint64_t n = 1; n <= kItems; ++n) {
      plain[n] = n;
      while (!producer.Push(Item(n))) std::this_thread::yield();
    }
    EXPECT_EQ(producer.faults(), 0u);
  });
  LineQueueConsumer consumer(nic, place);
  uint64_t wrong = 0;
  for (uint64_t n = 1; n <= kItems; ++n) {
    Line item;
    while (!consumer.Pop(item)) std::this_thread::yield();
    wrong += item != PoppedItem(n) || plain[n] != n;
  }
  sender.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(consumer.faults(), 0u);
}

}  // namespace
}  // namespace sluice::bar
