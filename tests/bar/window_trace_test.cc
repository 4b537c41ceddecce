// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that a trace records each operation and its cost on a link. TLP sizes follow the PCIe
// rules: 24 bytes of overhead for a write or a read request, 20 for a completion.
#include "bar/window_trace.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "bar/shm_window.h"
#include "bar/window.h"

namespace sluice::bar {
namespace {

using Op = WindowOperation;

// A write of a 64-byte line transfers 64 + 24 bytes. A read of a line transfers 24 bytes for the
// request and 64 + 20 for the completion. A word has 8 bytes: a write transfers 8 + 24 bytes, and a
// read 24 and 8 + 20. MSI-X is a write of 4 bytes.
TEST(WindowBytes, OfEveryOperationAndKindOfWindow) {
  constexpr auto kHost = WindowSide::kHost;
  constexpr auto kNic = WindowSide::kNic;
  struct Row {
    Op operation;
    uint32_t capabilities;
    WindowSide side;
    LinkBytes bytes;
  };
  const std::vector<Row> rows = {
      {Op::kPost, kWindowWriteCombining, kHost, {88, 0}},
      {Op::kPost, kWindowLineAtomic, kHost, {88, 0}},
      {Op::kPost, 0, kHost, {8 * 32, 0}},
      {Op::kPost, kWindowNicStoresHost, kNic, {0, 88}},
      {Op::kPost, 0, kNic, {0, 0}},
      {Op::kPeek, kWindowNicStoresHost, kHost, {0, 0}},
      {Op::kPeek, 0, kHost, {24, 28}},
      {Op::kPeek, kWindowWriteThrough, kHost, {24, 84}},
      {Op::kPoll, kWindowNicStoresHost, kHost, {0, 0}},
      {Op::kPoll, 0, kHost, {8 * 24, 8 * 28}},
      {Op::kPoll, kWindowWriteThrough, kHost, {24, 84}},
      {Op::kPoll, 0, kNic, {0, 0}},
      {Op::kReadUncached, kWindowNicStoresHost, kHost, {24, 28}},
      {Op::kReadUncached, 0, kNic, {0, 0}},
      {Op::kFlush, 0, kHost, {0, 0}},
      {Op::kInterrupt, kWindowInterrupt, kNic, {0, 28}},
      {Op::kInterrupt, 0, kNic, {0, 0}},
      {Op::kInterrupt, kWindowInterrupt, kHost, {0, 0}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(WindowBytes(row.operation, row.capabilities, row.side), row.bytes)
        << static_cast<int>(row.operation) << ' ' << row.capabilities;
  }
}

TEST(WindowTrace, KeepsTheNewestAndTotalsOfAll) {
  std::array<WindowEvent, 4> storage;
  WindowTrace trace(storage);
  for (uint32_t i = 0; i < 6; ++i) {
    WindowEvent event;
    event.operation = i % 2 == 0 ? Op::kPost : Op::kPoll;
    event.index = i;
    event.bytes = {10, 1};
    trace.Record(event);
  }
  EXPECT_EQ(trace.recorded(), 6u);
  ASSERT_EQ(trace.size(), 4u);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(trace[i].index, i + 2);
  EXPECT_EQ(trace.count(Op::kPost), 3u);
  EXPECT_EQ(trace.count(Op::kPoll), 3u);
  EXPECT_EQ(trace.count(Op::kFlush), 0u);
  EXPECT_EQ(trace.bytes(), (LinkBytes{60, 6}));
}

TEST(WindowTrace, WithoutStorageStillCounts) {
  WindowTrace trace({});
  trace.Record({});
  EXPECT_EQ(trace.recorded(), 1u);
  EXPECT_EQ(trace.size(), 0u);
}

static_assert(WindowEnd<TracedWindow<ShmWindow>>);

// Records an exchange of two lines over shared memory. Checks the recorded operations and their
// cost on a link.
TEST(TracedWindow, RecordsWhatPassesThrough) {
  ShmWindow host_end = ShmWindow::Create(2, WindowSide::kHost);
  ASSERT_TRUE(host_end);
  ShmWindow nic_end = host_end.Peer();
  std::array<WindowEvent, 16> storage;
  WindowTrace trace(storage);
  TracedWindow host(host_end, trace, WindowSide::kHost);
  TracedWindow nic(nic_end, trace, WindowSide::kNic);
  EXPECT_EQ(host.lines(), 2u);
  EXPECT_EQ(host.capabilities(), host_end.capabilities());

  Line offer, seen;
  offer.word[0] = 11;
  host.Post(1, offer);
  EXPECT_EQ(nic.Peek(1), 11u);
  ASSERT_TRUE(nic.Poll(1, seen));
  EXPECT_EQ(seen, offer);
  offer.word[0] = 12;
  nic.Post(1, offer);
  EXPECT_EQ(host.ReadUncached(1, 0), 12u);
  host.Flush();
  nic.Interrupt(0);

  const std::vector<Op> expected = {Op::kPost,         Op::kPeek,  Op::kPoll,     Op::kPost,
                                    Op::kReadUncached, Op::kFlush, Op::kInterrupt};
  ASSERT_EQ(trace.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(trace[i].operation, expected[i]) << i;
  EXPECT_EQ(trace[0].index, 1u);
  EXPECT_EQ(trace.bytes(), (LinkBytes{88 + 24, 88 + 28}));
}

}  // namespace
}  // namespace sluice::bar
