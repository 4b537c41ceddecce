// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the receive burst over data and notifications that the test writes: where a burst ends, and
// which mbufs a frame uses.
#include <rte_mbuf.h>

#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "net_enso/enso_port.h"
#include "net_enso/fixture.h"
#include "net_enso/nb_fixture.h"

namespace sluice::net_enso {
namespace {

class RxTest : public NbTest {
 protected:
  RxTest() {
    Open();
    pipe_ = OpenPipe(RTE_PMD_ENSO_RX);
    queue_.nb = nb_;
    queue_.max_bytes = kMaxFrameBytes;
    queue_.scatter = true;
    rte_mbuf mbuf{};
    mbuf.data_off = RTE_PKTMBUF_HEADROOM;
    mbuf.nb_segs = 1;
    rte_mbuf_refcnt_set(&mbuf, 1);
    std::memcpy(&queue_.rearm, &mbuf.rearm_data, sizeof(queue_.rearm));
  }

  void UsePool(const Pool& pool) {
    queue_.pool = pool.get();
    queue_.room = rte_pktmbuf_data_room_size(pool.get()) - RTE_PKTMBUF_HEADROOM;
  }
  /// Writes a frame as it would arrive from the wire, and notifies the driver of it.
  void Arrive(const Bytes& frame) {
    std::memcpy(pipe_->At(tail_), frame.data(), frame.size());
    tail_ += FlitsOf(frame.size());
    Notify(pipe_->id, tail_ & pipe_->mask);
  }
  uint16_t Receive(rte_mbuf** packets, uint16_t count) { return RxBurst(&queue_, packets, count); }

  RxQueue queue_;
  Pipe* pipe_ = nullptr;
  uint32_t tail_ = 0;
};

// A burst processes at most the frames that one poll returns, even if more frames arrive.
TEST_F(RxTest, ABurstEndsThoughUnusableFramesGoOn) {
  const Pool pool(64);
  UsePool(pool);
  constexpr uint32_t kPoll = NotificationBuffer::kPollBudget;
  for (uint32_t i = 0; i < 3 * kPoll; ++i) Arrive(Bytes(60));  // An unknown type.
  rte_mbuf* packets[8];
  for (uint32_t burst = 1; burst <= 3; ++burst) {
    EXPECT_EQ(Receive(packets, 8), 0u);
    EXPECT_EQ(queue_.desync_flits, burst * kPoll);
  }
  queue_.max_bytes = 100;
  for (uint32_t i = 0; i < 2 * kPoll; ++i) Arrive(Ipv4Frame({.length = 101}));
  for (uint32_t burst = 1; burst <= 2; ++burst) {
    EXPECT_EQ(Receive(packets, 8), 0u);
    EXPECT_EQ(queue_.too_long, burst * kPoll);
  }
  EXPECT_EQ(queue_.counters.packets, 0u);
}

TEST_F(RxTest, WhatArrivedOnAnyPipeIsDiscarded) {
  for (uint32_t pipes = 1;; ++pipes) {
    const uint64_t before = queue_.stop_drops;
    for (const Pipe* pipe : nb_->pipes()) {
      const Bytes frame = Ipv4Frame({.length = 60});
      for (uint32_t i = 0; i < 2; ++i) {
        std::memcpy(pipe->At(pipe->tail + i), frame.data(), frame.size());
        Notify(pipe->id, (pipe->tail + i + 1) & pipe->mask);
      }
      bar_.Write32(PipePage(pipe->id) + kRxTail, (pipe->tail + 2) & pipe->mask);
    }
    DiscardPending(queue_);
    EXPECT_EQ(queue_.stop_drops - before, 2 * pipes);
    EXPECT_EQ(queue_.desync_flits, 0u);
    if (pipes == 3 * RxQueue::kSpans) break;
    OpenPipe(RTE_PMD_ENSO_RX);
  }
}

// The frame lengths are exact to the byte, and the pools are exact to the last mbuf.
TEST_F(RxTest, AFrameTakesAsManyMbufsAsItNeedsAndNoMore) {
  const struct {
    uint16_t room;  // Number of data bytes in an mbuf; not always a multiple of the flit size.
    uint32_t length;
    uint16_t segments;
  } kCases[] = {{256, 255, 1}, {256, 256, 1}, {256, 257, 2}, {256, 512, 2}, {256, 513, 3},
                {256, 768, 3}, {300, 299, 1}, {300, 300, 1}, {300, 301, 2}, {300, 320, 2},
                {300, 600, 2}, {300, 601, 3}, {300, 900, 3}};
  for (const auto& [room, length, segments] : kCases) {
    SCOPED_TRACE(std::to_string(length) + " bytes, " + std::to_string(room) + " in each mbuf");
    const Pool pool(segments, static_cast<uint16_t>(RTE_PKTMBUF_HEADROOM + room));
    UsePool(pool);
    const Bytes frame = Ipv4Frame({.length = length, .seed = length});
    Arrive(frame);
    rte_mbuf* packet = rte_pktmbuf_alloc(pool.get());  // This uses up one of the mbufs.
    const uint64_t refused = queue_.no_mbuf;
    rte_mbuf* received = nullptr;
    EXPECT_EQ(Receive(&received, 1), 0u);
    EXPECT_EQ(queue_.no_mbuf, refused + 1);
    EXPECT_EQ(rte_mempool_in_use_count(pool.get()), 1u) << "it does not keep what it took";
    rte_pktmbuf_free(packet);
    ASSERT_EQ(Receive(&received, 1), 1u) << "the frame waits in the pipe";
    EXPECT_EQ(received->nb_segs, segments);
    EXPECT_EQ(received->pkt_len, length);
    EXPECT_EQ(rte_mbuf_check(received, 1, nullptr), 0);
    EXPECT_EQ(Contents(received), frame);
    rte_pktmbuf_free(received);
  }
}

}  // namespace
}  // namespace sluice::net_enso
