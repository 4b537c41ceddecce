// SPDX-License-Identifier: BSD-3-Clause
//
// Tests one-way queues on the model of a link, with stale caches, words that arrive in any order,
// and full rings. Every item must arrive once and in order.
#include "bar/line_queue.h"

#include <gtest/gtest.h>

#include "fabric/window.h"

namespace sluice::fabric {
namespace {

using bar::Line;
using bar::LineQueueConsumer;
using bar::LineQueueProducer;

Line Item(uint64_t number) {
  Line line;
  for (uint64_t i = 1; i < 7; ++i) line.word[i] = number * 10 + i;
  return line;
}

/// Pushes as fast as possible and pops one item for every three attempts to push, so that the ring
/// is usually full.
template <typename P, typename C>
void Transfer(P& producer_end, C& consumer_end, WindowPair& pair, uint64_t items) {
  const bar::LineQueuePlace place{1, 6};
  LineQueueProducer producer(producer_end, place);
  LineQueueConsumer consumer(consumer_end, place);
  uint64_t popped = 0;
  for (uint64_t step = 0; popped < items; ++step) {
    ASSERT_LT(step, 1000 * items);
    producer.Push(Item(producer.sent() + 1));
    Line item;
    if (step % 3 != 0 || !consumer.Pop(item)) continue;
    Line expected = Item(++popped);
    expected.word[0] = popped;
    ASSERT_EQ(item, expected);
  }
  EXPECT_GT(producer.overflows(), 0u);
  EXPECT_EQ(producer.faults(), 0u);
  EXPECT_EQ(consumer.faults(), 0u);
  EXPECT_GT(pair.link_bytes().down, 0u);
}

struct Kind {
  HostStores stores;
  NicLines lines;
};

class LineQueueOverEveryWindow : public testing::TestWithParam<Kind> {
 protected:
  WindowParameters Parameters() const {
    WindowParameters parameters;
    parameters.lines = 8;
    parameters.host_stores = GetParam().stores;
    parameters.nic_lines = GetParam().lines;
    parameters.early_evictions_permille = 300;
    return parameters;
  }
};

TEST_P(LineQueueOverEveryWindow, EventsDown) {
  EventQueue queue;
  WindowPair pair(queue, Parameters());
  Transfer(pair.host(), pair.nic(), pair, 200);
}

TEST_P(LineQueueOverEveryWindow, DecisionsUp) {
  EventQueue queue;
  WindowPair pair(queue, Parameters());
  Transfer(pair.nic(), pair.host(), pair, 200);
}

INSTANTIATE_TEST_SUITE_P(Kinds, LineQueueOverEveryWindow,
                         testing::Values(Kind{HostStores::kWholeLine, NicLines::kPushed},
                                         Kind{HostStores::kWriteCombining, NicLines::kPushed},
                                         Kind{HostStores::kUncached, NicLines::kUncached},
                                         Kind{HostStores::kWriteCombining,
                                              NicLines::kWriteThrough}));

}  // namespace
}  // namespace sluice::fabric
