// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the ethdev interface end to end over the model NIC. Every frame must have exactly one
// outcome, and every outcome a counter.
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "net_enso/fixture.h"
#include "net_enso/rte_pmd_enso.h"

namespace sluice::net_enso {
namespace {

constexpr uint16_t kBurst = 32;

/// Receives one burst and sends it back; frames that are not accepted are freed. Returns the number
/// of received frames; `dropped` counts frames that were not sent.
uint16_t EchoBurst(uint16_t port, uint16_t queue, uint64_t* dropped) {
  rte_mbuf* mbufs[kBurst];
  const uint16_t received = rte_eth_rx_burst(port, queue, mbufs, kBurst);
  const uint16_t sent = rte_eth_tx_burst(port, queue, mbufs, received);
  rte_pktmbuf_free_bulk(mbufs + sent, received - sent);
  *dropped += received - sent;
  return received;
}

/// Returns ethdev's name for the received packets of a queue.
std::string PacketsOf(int queue) { return "rx_q" + std::to_string(queue) + "_packets"; }

std::vector<Bytes> ReceiveFrames(uint16_t port, size_t count, uint16_t queue = 0) {
  std::vector<Bytes> frames;
  Eventually([&] {
    rte_mbuf* mbufs[kBurst];
    const uint16_t received = rte_eth_rx_burst(port, queue, mbufs, kBurst);
    for (uint16_t i = 0; i < received; ++i) frames.push_back(Contents(mbufs[i]));
    rte_pktmbuf_free_bulk(mbufs, received);
    return frames.size() >= count;
  });
  return frames;
}

void SendFrame(const Vdev& vdev, const Pool& pool, const Bytes& frame, uint16_t segment_bytes = 0) {
  rte_mbuf* mbuf = pool.Fill(frame, segment_bytes);
  ASSERT_EQ(rte_eth_tx_burst(vdev.port(), 0, &mbuf, 1), 1);
}

/// Counts the missing frames that a verifier can detect. Frames are numbered per flow. The verifier
/// detects a gap when a later frame of the flow returns, so it does not detect frames after the
/// last returned one. All frames of a flow are received and sent on one queue, in the order of
/// their numbers.
class Gaps {
 public:
  void FrameIsKept(uint32_t flow) { ++unseen_[flow]; }
  void FrameReturns(uint32_t flow) { seen_ += std::exchange(unseen_[flow], 0); }
  uint64_t seen() const { return seen_; }

 private:
  /// For each flow, the number of frames kept since the last frame that returned.
  std::map<uint32_t, uint64_t> unseen_;
  uint64_t seen_ = 0;
};

/// Returns the IPv4 source address, which identifies generated flows.
uint32_t FlowOf(const rte_mbuf* mbuf) {
  uint32_t source;
  std::memcpy(&source, rte_pktmbuf_mtod_offset(mbuf, const uint8_t*, 14 + 12), sizeof(source));
  return source;
}

/// Sends back the frames that are received on four queues, except one in `keep_one_in` frames (0:
/// none) and frames that a full queue rejects.
void EchoOnFourQueues(uint32_t keep_one_in) {
  constexpr uint64_t kFrames = 50'000;
  const Pool pool(4096);
  Vdev vdev("wire=gen:size=random+flows=200+count=50000,verify=full,pipes=2");
  vdev.Start(4, pool.get());
  uint64_t received = 0;
  uint64_t kept = 0;
  Gaps gaps;
  EXPECT_TRUE(Eventually([&] {
    for (uint16_t queue = 0; queue < 4; ++queue) {
      rte_mbuf* mbufs[kBurst];
      const uint16_t count = rte_eth_rx_burst(vdev.port(), queue, mbufs, kBurst);
      for (uint16_t i = 0; i < count; ++i, ++received) {
        // Read this before the send, because a sent frame belongs to the driver.
        const uint32_t flow = FlowOf(mbufs[i]);
        const bool keep = keep_one_in != 0 && received % keep_one_in == 0;
        if (!keep && rte_eth_tx_burst(vdev.port(), queue, &mbufs[i], 1) == 1) {
          gaps.FrameReturns(flow);
        } else {
          rte_pktmbuf_free(mbufs[i]);
          gaps.FrameIsKept(flow);
          ++kept;
        }
      }
    }
    return received == kFrames;
  })) << received;
  EXPECT_TRUE(Eventually([&] { return vdev.Xstat("wire_returned") == kFrames - kept; }));
  const rte_eth_stats stats = vdev.Stats();
  EXPECT_EQ(stats.ipackets, kFrames);
  EXPECT_EQ(stats.opackets, kFrames - kept);
  EXPECT_EQ(stats.imissed + stats.ierrors + stats.oerrors + stats.rx_nombuf, 0u);
  for (int queue = 0; queue < 4; ++queue) EXPECT_GT(vdev.Xstat(PacketsOf(queue)), 0u) << queue;
  EXPECT_EQ(vdev.Xstat("wire_lost"), gaps.seen());
  EXPECT_EQ(vdev.Xstat("wire_corrupted"), 0u);
  EXPECT_EQ(vdev.Xstat("wire_reordered"), 0u);
  EXPECT_EQ(vdev.Xstat("rx_desync"), 0u);
}

TEST(Ethdev, FourQueuesEchoEveryFrameOnceAndWhole) { EchoOnFourQueues(0); }

TEST(Ethdev, FramesThatAreKeptAreMissedOnceLaterOnesReturn) { EchoOnFourQueues(3); }

TEST(Ethdev, QueuesThatAreNoPowerOfTwoAreAllReached) {
  const Pool pool(4096);
  Vdev vdev("wire=gen:size=64+flows=500+count=20000");
  vdev.Start(3, pool.get());
  uint64_t received = 0;
  uint64_t dropped = 0;
  EXPECT_TRUE(Eventually([&] {
    for (uint16_t queue = 0; queue < 3; ++queue)
      received += EchoBurst(vdev.port(), queue, &dropped);
    return received == 20'000;
  }));
  for (int queue = 0; queue < 3; ++queue) EXPECT_GT(vdev.Xstat(PacketsOf(queue)), 0u) << queue;
}

TEST(Ethdev, RestartsTenTimesUnderTrafficAndAccountsForEveryFrame) {
  const Pool pool(2048);
  Vdev vdev("wire=gen:size=64+flows=16");
  uint64_t dropped = 0;
  for (int round = 0; round < 10; ++round) {
    if (round == 0) {
      vdev.Start(2, pool.get());
    } else {
      ASSERT_EQ(rte_eth_dev_start(vdev.port()), 0);
    }
    uint64_t received = 0;
    ASSERT_TRUE(Eventually([&] {
      for (uint16_t queue = 0; queue < 2; ++queue)
        received += EchoBurst(vdev.port(), queue, &dropped);
      return received > 2000;
    })) << "round "
        << round;
    ASSERT_EQ(rte_eth_dev_stop(vdev.port()), 0);
    ASSERT_EQ(vdev.Xstat("model_rx_frames"), vdev.Stats().ipackets + vdev.Xstat("rx_stop_drops"))
        << "round " << round;
  }
  EXPECT_EQ(vdev.Stats().opackets, vdev.Xstat("model_tx_frames"));
  EXPECT_EQ(vdev.Stats().ipackets + vdev.Stats().imissed,
            vdev.Xstat("model_rx_frames") + vdev.Xstat("model_rx_pipe_full"));
  EXPECT_EQ(vdev.Xstat("pipe_unread_flits"), 0u);
  EXPECT_EQ(vdev.Xstat("device_stuck_rings"), 0u);
  EXPECT_EQ(vdev.Xstat("nb_bad_completions"), 0u);
  EXPECT_EQ(vdev.Xstat("nb_bad_notifications"), 0u);
  EXPECT_EQ(vdev.Xstat("model_wedged"), 0u);
  EXPECT_EQ(vdev.Xstat("model_rx_pipe_disabled"), 0u);
  EXPECT_EQ(vdev.Xstat("wire_corrupted"), 0u);
}

TEST(Ethdev, ReceivesMoreThanIpv4) {
  const std::vector<Bytes> frames = {ArpFrame(),        VlanFrame(200, 1),
                                     Ipv6Frame(300, 2), Ipv4Frame({.length = 1514, .seed = 3}),
                                     ArpFrame(),        Ipv4Frame({.length = 64, .seed = 4})};
  const CaptureFile capture(frames);
  const Pool pool(1024);
  Vdev vdev("wire=pcap:" + capture.path() + "+loop=1");
  vdev.Start(1, pool.get());
  EXPECT_EQ(ReceiveFrames(vdev.port(), frames.size()), frames);
  EXPECT_EQ(vdev.Xstat("rx_desync"), 0u);
}

/// The driver cannot correct a wrong total length, because the ring contains no lengths.
/// Nevertheless every flit is counted, and the walk stays within the notified range.
TEST(Ethdev, LyingLengthsAreCountedInFlits) {
  std::vector<Bytes> frames;
  uint32_t flits = 0;
  for (uint32_t i = 0; i < 50; ++i) {
    frames.push_back(Ipv4Frame({.length = 200, .seed = i}));
    frames.push_back(
        WithTotalLength(Ipv4Frame({.length = 500, .seed = i}), static_cast<uint16_t>(i * 1300)));
  }
  for (const Bytes& frame : frames) flits += FlitsOf(frame.size());
  const CaptureFile capture(frames);
  const Pool pool(1024);
  Vdev vdev("wire=pcap:" + capture.path() + "+loop=1");
  vdev.Start(1, pool.get());
  uint64_t received_flits = 0;
  EXPECT_TRUE(Eventually([&] {
    rte_mbuf* mbufs[kBurst];
    const uint16_t received = rte_eth_rx_burst(vdev.port(), 0, mbufs, kBurst);
    for (uint16_t i = 0; i < received; ++i) received_flits += FlitsOf(mbufs[i]->pkt_len);
    rte_pktmbuf_free_bulk(mbufs, received);
    return received_flits + vdev.Xstat("rx_desync") >= flits;
  }));
  EXPECT_EQ(received_flits + vdev.Xstat("rx_desync"), flits);
  EXPECT_GT(vdev.Xstat("rx_desync"), 0u);
}

TEST(Ethdev, NotifyPacketKeepsBoundariesWhateverTheHeadersSay) {
  std::vector<Bytes> frames;
  for (uint32_t i = 0; i < 200; ++i) {
    frames.push_back(Ipv4Frame({.length = 60 + i * 7, .seed = i}));
    frames.push_back(
        WithTotalLength(Ipv4Frame({.length = 500, .seed = i}), static_cast<uint16_t>(i * 300)));
    Bytes unknown = Ipv4Frame({.length = 128, .seed = i});
    unknown[12] = 0x88;  // LLDP's EtherType: the frame contains no length.
    unknown[13] = 0xcc;
    frames.push_back(unknown);
  }
  const CaptureFile capture(frames);
  const Pool pool(1024);
  Vdev vdev("notify=packet,wire=pcap:" + capture.path() + "+loop=1");
  vdev.Start(1, pool.get());
  const std::vector<Bytes> received = ReceiveFrames(vdev.port(), frames.size());
  ASSERT_EQ(received.size(), frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    ASSERT_EQ(FlitsOf(received[i].size()), FlitsOf(frames[i].size())) << "frame " << i;
    const size_t known = std::min(received[i].size(), frames[i].size());
    ASSERT_TRUE(std::equal(frames[i].begin(), frames[i].begin() + known, received[i].begin())) << i;
  }
  EXPECT_EQ(vdev.Xstat("rx_desync"), 0u);
}

TEST(Ethdev, RefusesToSendWhatTheNicWouldCutWrongly) {
  const Pool pool(1024);
  Vdev vdev("wire=loopback");
  vdev.Start(1, pool.get());
  const Bytes good = Ipv4Frame({.length = 100, .seed = 9});
  const std::vector<Bytes> refused = {
      ArpFrame(),
      VlanFrame(100, 1),
      Ipv6Frame(100, 2),
      WithTotalLength(good, 600),                       // Claims flits that do not exist.
      WithTotalLength(Ipv4Frame({.length = 300}), 28),  // Does not cover all flits.
      Ipv4Frame({.length = 65 * 64}),                   // The frame is longer than the NIC's FIFO.
      Bytes(20),
  };
  for (const Bytes& frame : refused) SendFrame(vdev, pool, frame, 1000);
  SendFrame(vdev, pool, good);
  EXPECT_EQ(ReceiveFrames(vdev.port(), 1), std::vector<Bytes>{good});
  EXPECT_EQ(vdev.Xstat("tx_unframeable"), refused.size());
  const rte_eth_stats stats = vdev.Stats();
  EXPECT_EQ(stats.oerrors, refused.size());
  EXPECT_EQ(stats.opackets, 1u);
  EXPECT_EQ(stats.obytes, good.size());
  EXPECT_EQ(vdev.Xstat("model_tx_frames"), 1u);
}

TEST(Ethdev, WhatTheNicCannotSendLeavesThroughTheExceptionPort) {
  const Pool pool(1024);
  rte_ring* const ring = rte_ring_create("exception", 64, SOCKET_ID_ANY, 0);
  ASSERT_NE(ring, nullptr);
  const int other = rte_eth_from_ring(ring);
  ASSERT_GE(other, 0);
  {
    Vdev vdev("wire=loopback,exception=net_ring_exception");
    rte_eth_dev_owner owner{};
    EXPECT_EQ(rte_eth_dev_owner_get(static_cast<uint16_t>(other), &owner), 0);
    EXPECT_NE(owner.id, RTE_ETH_DEV_NO_OWNER) << "applications leave it alone";
    vdev.Start(1, pool.get());
    const Bytes good = Ipv4Frame({.length = 100, .seed = 9});
    const std::vector<Bytes> others = {ArpFrame(), VlanFrame(100, 1), Ipv6Frame(100, 2)};
    SendFrame(vdev, pool, others[0]);
    SendFrame(vdev, pool, good);
    SendFrame(vdev, pool, others[1]);
    SendFrame(vdev, pool, others[2], 30);
    EXPECT_EQ(ReceiveFrames(vdev.port(), 1), std::vector<Bytes>{good});
    for (const Bytes& frame : others) {
      void* mbuf = nullptr;
      ASSERT_EQ(rte_ring_dequeue(ring, &mbuf), 0);
      EXPECT_EQ(Contents(static_cast<rte_mbuf*>(mbuf)), frame);
      rte_pktmbuf_free(static_cast<rte_mbuf*>(mbuf));
    }
    EXPECT_EQ(vdev.Xstat("tx_exceptions"), 3u);
    EXPECT_EQ(vdev.Xstat("tx_unframeable"), 0u);
    const rte_eth_stats stats = vdev.Stats();
    EXPECT_EQ(stats.opackets, 4u);
    EXPECT_EQ(stats.oerrors, 0u);
    // A ring of 64 entries holds 63 frames; further frames are counted and dropped.
    for (int i = 0; i < 65; ++i) SendFrame(vdev, pool, ArpFrame());
    EXPECT_EQ(vdev.Xstat("tx_exceptions"), 3u + 63u);
    EXPECT_EQ(vdev.Stats().oerrors, 2u);
    void* mbuf = nullptr;
    while (rte_ring_dequeue(ring, &mbuf) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(mbuf));
  }
  rte_eth_dev_owner owner{};
  EXPECT_EQ(rte_eth_dev_owner_get(static_cast<uint16_t>(other), &owner), 0);
  EXPECT_EQ(owner.id, RTE_ETH_DEV_NO_OWNER);
  {
    Vdev vdev("wire=loopback,exception=net_ring_exception");
    vdev.Start(1, pool.get());
    rte_eth_dev_close(static_cast<uint16_t>(other));
    rte_vdev_uninit("net_ring_exception");
    ASSERT_EQ(rte_eth_from_ring(ring), other) << "a stranger with the same number";
    const rte_eth_conf conf{};
    EXPECT_EQ(rte_eth_dev_configure(static_cast<uint16_t>(other), 0, 1, &conf), 0);
    EXPECT_EQ(rte_eth_tx_queue_setup(static_cast<uint16_t>(other), 0, 64, 0, nullptr), 0);
    EXPECT_EQ(rte_eth_dev_start(static_cast<uint16_t>(other)), 0);
    SendFrame(vdev, pool, ArpFrame());
    EXPECT_EQ(rte_ring_count(ring), 0u) << "is sent nothing";
    EXPECT_EQ(vdev.Stats().oerrors, 1u);
    // After the other port was stopped, the next start finds that port by its name and uses it.
    EXPECT_EQ(rte_eth_dev_stop(static_cast<uint16_t>(other)), 0);
    EXPECT_EQ(rte_eth_dev_stop(vdev.port()), 0);
    EXPECT_EQ(rte_eth_dev_start(vdev.port()), 0);
    SendFrame(vdev, pool, ArpFrame());
    void* mbuf = nullptr;
    ASSERT_EQ(rte_ring_dequeue(ring, &mbuf), 0);
    rte_pktmbuf_free(static_cast<rte_mbuf*>(mbuf));
  }
  rte_eth_dev_stop(static_cast<uint16_t>(other));
  rte_eth_dev_close(static_cast<uint16_t>(other));
  rte_vdev_uninit("net_ring_exception");
  rte_ring_free(ring);
}

TEST(Ethdev, SegmentsAreSentAsOneFrame) {
  const Pool pool(1024);
  Vdev vdev("wire=loopback");
  vdev.Start(1, pool.get());
  for (const uint16_t segment : {1, 20, 33, 64, 100, 700}) {
    const Bytes frame = Ipv4Frame({.length = 1000, .seed = segment});
    SendFrame(vdev, pool, frame, segment);
    EXPECT_EQ(ReceiveFrames(vdev.port(), 1), std::vector<Bytes>{frame}) << segment;
  }
}

/// A frame may claim more bytes than it has if they are in its last flit. The bytes beyond its end
/// are sent as 0.
TEST(Ethdev, BytesOfTheLastFlitThatNoFrameHasLeaveAsZeros) {
  const Pool pool(2048);
  Vdev vdev("wire=loopback");
  vdev.Start(1, pool.get());
  // Fills the pipe of 2 MiB once, so that every byte has old content.
  constexpr uint32_t kFlits = 23;
  for (uint32_t flits = 0; flits <= (2u << 20) / 64; flits += kBurst * kFlits) {
    rte_mbuf* mbufs[kBurst];
    for (rte_mbuf*& mbuf : mbufs) mbuf = pool.Fill(Ipv4Frame({.length = kFlits * 64}));
    ASSERT_EQ(rte_eth_tx_burst(vdev.port(), 0, mbufs, kBurst), kBurst);
    ASSERT_EQ(ReceiveFrames(vdev.port(), kBurst).size(), kBurst);
  }
  const struct {
    uint32_t length, claimed;
  } kCases[] = {{60, 64}, {63, 64}, {65, 128}, {100, 128}, {1400, 1408}};
  for (const uint16_t segment : {0, 33}) {
    for (const auto& [length, claimed] : kCases) {
      Bytes frame = WithTotalLength(Ipv4Frame({.length = length, .seed = length}),
                                    static_cast<uint16_t>(claimed - 14));
      SendFrame(vdev, pool, frame, segment);
      frame.resize(claimed);
      EXPECT_EQ(ReceiveFrames(vdev.port(), 1), std::vector<Bytes>{frame}) << length;
    }
  }
}

TEST(Ethdev, MbufsOfTwoPoolsReturnEachToItsOwn) {
  const Pool own(1024), other(1024);
  Vdev vdev("wire=loopback");
  vdev.Start(1, own.get());
  rte_mbuf* mbufs[kBurst];
  for (uint32_t i = 0; i < kBurst; ++i) {
    mbufs[i] = (i % 3 == 0 ? own : other).Fill(Ipv4Frame({.length = 100, .seed = i}));
  }
  ASSERT_EQ(rte_eth_tx_burst(vdev.port(), 0, mbufs, kBurst), kBurst);
  EXPECT_EQ(rte_mempool_in_use_count(other.get()), 0u);
  EXPECT_EQ(ReceiveFrames(vdev.port(), kBurst).size(), kBurst);
}

TEST(Ethdev, FullPipeTakesFewerThanOffered) {
  const Pool pool(8192);
  Vdev vdev("wire=loopback");
  vdev.Start(1, pool.get());
  // The limit is one flit per 1000 cycles of 5 ns, so the pipe fills faster than it drains.
  ASSERT_EQ(rte_pmd_enso_set_rate_limit(vdev.port(), true, 1, 1000), 0);
  uint64_t taken = 0;
  uint16_t sent = kBurst;
  while (sent == kBurst && taken < 200'000) {
    rte_mbuf* mbufs[kBurst];
    for (rte_mbuf*& mbuf : mbufs) mbuf = pool.Fill(Ipv4Frame({.length = 1400}));
    sent = rte_eth_tx_burst(vdev.port(), 0, mbufs, kBurst);
    taken += sent;
    rte_pktmbuf_free_bulk(mbufs + sent, kBurst - sent);
  }
  EXPECT_LT(sent, kBurst);
  EXPECT_GE(taken, (2u << 20) / 1408) << "a pipe of 2 MiB";
  EXPECT_GT(vdev.Xstat("tx_full"), 0u);
  EXPECT_EQ(vdev.Stats().opackets, taken);
  ASSERT_EQ(rte_pmd_enso_set_rate_limit(vdev.port(), false, 1, 1), 0);
}

TEST(Ethdev, FramesThatFindThePipeFullAreMissed) {
  constexpr uint64_t kFrames = 3000;  // 24 flits each: 4.4 MiB, for a pipe of 2 MiB.
  const Pool pool(1024);
  Vdev vdev("wire=gen:size=1518+count=3000,pause=off");
  vdev.Start(1, pool.get());
  EXPECT_TRUE(Eventually([&] {
    return vdev.Xstat("model_rx_frames") + vdev.Stats().imissed == kFrames;
  })) << vdev.Stats().imissed;
  EXPECT_GE(vdev.Stats().imissed, kFrames - (2u << 20) / (24 * 64));
}

TEST(Ethdev, EmptyPoolLeavesFramesInThePipe) {
  Vdev vdev("wire=gen:size=64+count=1000");
  const Pool pool(128);
  vdev.Start(1, pool.get());
  std::vector<rte_mbuf*> held;
  EXPECT_TRUE(Eventually([&] {
    rte_mbuf* mbufs[kBurst];
    const uint16_t received = rte_eth_rx_burst(vdev.port(), 0, mbufs, kBurst);
    held.insert(held.end(), mbufs, mbufs + received);
    return vdev.Stats().rx_nombuf > 0;
  }));
  EXPECT_EQ(held.size(), 128u);
  rte_pktmbuf_free_bulk(held.data(), static_cast<unsigned>(held.size()));
  EXPECT_EQ(ReceiveFrames(vdev.port(), 1000 - 128).size(), 1000u - 128);
  EXPECT_EQ(rte_eth_dev_stop(vdev.port()), 0);
}

TEST(Ethdev, LongFramesAreScatteredOrCounted) {
  const Bytes frame = Ipv4Frame({.length = 1514, .seed = 5});
  const CaptureFile capture({frame, Ipv4Frame({.length = 60})});
  const Pool small(1024, 512);
  {
    Vdev vdev("wire=pcap:" + capture.path() + "+loop=1");
    vdev.Start(1, small.get(), RTE_ETH_RX_OFFLOAD_SCATTER);
    EXPECT_EQ(ReceiveFrames(vdev.port(), 2).front(), frame);
    EXPECT_EQ(rte_eth_dev_stop(vdev.port()), 0);
  }
  {
    Vdev vdev("wire=pcap:" + capture.path() + "+loop=1");
    vdev.Start(1, small.get(), 0, 256);
    EXPECT_EQ(ReceiveFrames(vdev.port(), 1).front().size(), 60u);
    EXPECT_EQ(vdev.Xstat("rx_too_long"), 1u);
    EXPECT_EQ(vdev.Stats().ierrors, 1u);
    EXPECT_EQ(rte_eth_dev_stop(vdev.port()), 0);
  }
}

TEST(Ethdev, StatisticsReset) {
  const Pool pool(1024);
  Vdev vdev("wire=gen:size=64+count=500");
  vdev.Start(1, pool.get());
  EXPECT_EQ(ReceiveFrames(vdev.port(), 500).size(), 500u);
  EXPECT_EQ(vdev.Stats().ibytes, 500u * 60) << "a 64-byte frame without its FCS";
  ASSERT_EQ(rte_eth_stats_reset(vdev.port()), 0);
  const rte_eth_stats stats = vdev.Stats();
  EXPECT_EQ(stats.ipackets + stats.ibytes + vdev.Xstat(PacketsOf(0)), 0u);
  EXPECT_EQ(vdev.Xstat("model_rx_frames"), 0u);
}

TEST(Ethdev, LinkFollowsThePort) {
  const Pool pool(1024);
  Vdev vdev("wire=loopback");
  rte_eth_link link{};
  const auto status = [&] {
    EXPECT_EQ(rte_eth_link_get_nowait(vdev.port(), &link), 0);
    return link.link_status;
  };
  EXPECT_EQ(status(), RTE_ETH_LINK_DOWN);
  EXPECT_EQ(link.link_speed, RTE_ETH_SPEED_NUM_NONE);
  vdev.Start(1, pool.get());
  EXPECT_EQ(status(), RTE_ETH_LINK_UP);
  EXPECT_EQ(link.link_speed, RTE_ETH_SPEED_NUM_100G);
  EXPECT_EQ(link.link_duplex, RTE_ETH_LINK_FULL_DUPLEX);
  ASSERT_EQ(rte_eth_dev_set_link_down(vdev.port()), 0);
  EXPECT_EQ(status(), RTE_ETH_LINK_DOWN);
  ASSERT_EQ(rte_eth_dev_set_link_up(vdev.port()), 0);
  EXPECT_EQ(status(), RTE_ETH_LINK_UP);
  ASSERT_EQ(rte_eth_dev_stop(vdev.port()), 0);
  EXPECT_EQ(status(), RTE_ETH_LINK_DOWN);
}

// tests/net_ipu contains the same test.
TEST(Ethdev, ALinkThatWasSetDownStaysDownUntilItIsSetUp) {
  const Pool pool(1024);
  Vdev vdev("wire=gen:size=64+rate=10k");
  const auto up = [&] {
    rte_eth_link link{};
    EXPECT_EQ(rte_eth_link_get_nowait(vdev.port(), &link), 0);
    return link.link_status == RTE_ETH_LINK_UP;
  };
  vdev.Start(1, pool.get());
  ASSERT_EQ(rte_eth_dev_set_link_down(vdev.port()), 0);
  const uint64_t offered = vdev.Xstat("wire_offered");
  ASSERT_EQ(rte_eth_dev_stop(vdev.port()), 0);
  ASSERT_EQ(rte_eth_dev_start(vdev.port()), 0);
  EXPECT_FALSE(up());
  EXPECT_EQ(vdev.Xstat("wire_offered"), offered);
  ASSERT_EQ(rte_eth_dev_stop(vdev.port()), 0);
  ASSERT_EQ(rte_eth_dev_set_link_up(vdev.port()), 0);
  EXPECT_FALSE(up()) << "no queue would receive the frames";
  EXPECT_EQ(vdev.Xstat("wire_offered"), offered);
  ASSERT_EQ(rte_eth_dev_start(vdev.port()), 0);
  EXPECT_TRUE(up());
  EXPECT_GE(ReceiveFrames(vdev.port(), 10).size(), 10u);
  ASSERT_EQ(rte_eth_dev_stop(vdev.port()), 0);
  ASSERT_EQ(rte_eth_dev_set_link_down(vdev.port()), 0);
  ASSERT_EQ(rte_eth_dev_start(vdev.port()), 0);
  EXPECT_FALSE(up());
  ASSERT_EQ(rte_eth_dev_set_link_up(vdev.port()), 0);
  EXPECT_TRUE(up());
  EXPECT_GE(ReceiveFrames(vdev.port(), 10).size(), 10u);
  EXPECT_EQ(rte_eth_dev_stop(vdev.port()), 0);
}

TEST(Ethdev, TheMtuOfARunningPortStaysAndTheLogSaysWhy) {
  const Pool pool(1024);
  Vdev vdev("wire=loopback");
  vdev.Start(1, pool.get());
  char* text = nullptr;
  size_t bytes = 0;
  std::FILE* const log = open_memstream(&text, &bytes);
  rte_openlog_stream(log);
  EXPECT_EQ(rte_eth_dev_set_mtu(vdev.port(), 1400), -EBUSY);
  rte_openlog_stream(nullptr);
  std::fclose(log);
  const std::string said(text, bytes);
  std::free(text);
  EXPECT_NE(said.find("MTU 1400"), std::string::npos) << said;
  EXPECT_NE(said.find("stop the port first"), std::string::npos) << said;
  EXPECT_EQ(rte_eth_dev_stop(vdev.port()), 0);
  EXPECT_EQ(rte_eth_dev_set_mtu(vdev.port(), 1400), 0);
}

TEST(Ethdev, TellsItsLimits) {
  Vdev vdev("wire=loopback");
  rte_eth_dev_info info{};
  ASSERT_EQ(rte_eth_dev_info_get(vdev.port(), &info), 0);
  EXPECT_EQ(info.max_rx_pktlen, 24u * 64) << "design limit of the NIC";
  EXPECT_EQ(info.max_mtu, 24u * 64 - 14);
  EXPECT_EQ(info.max_mac_addrs, 1u) << "its own";
  EXPECT_NE(info.speed_capa & RTE_ETH_LINK_SPEED_100G, 0u);
  EXPECT_EQ(info.flow_type_rss_offloads, RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |
                                             RTE_ETH_RSS_NONFRAG_IPV4_UDP |
                                             RTE_ETH_RSS_NONFRAG_IPV4_OTHER);
  EXPECT_EQ(info.hash_key_size, 0u) << "the hash has no key";
  EXPECT_NE(rte_eth_dev_set_mtu(vdev.port(), 9000), 0);
  EXPECT_EQ(rte_eth_promiscuous_enable(vdev.port()), 0);
  EXPECT_EQ(rte_eth_promiscuous_disable(vdev.port()), -ENOTSUP) << "it filters no address";
  EXPECT_EQ(rte_eth_promiscuous_get(vdev.port()), 1);
  EXPECT_EQ(rte_eth_allmulticast_disable(vdev.port()), -ENOTSUP);
  EXPECT_EQ(rte_eth_allmulticast_get(vdev.port()), 1);
  rte_ether_addr mac{{0x02, 1, 2, 3, 4, 5}};
  EXPECT_EQ(rte_eth_dev_default_mac_addr_set(vdev.port(), &mac), 0);
  rte_ether_addr read{};
  EXPECT_EQ(rte_eth_macaddr_get(vdev.port(), &read), 0);
  EXPECT_TRUE(rte_is_same_ether_addr(&mac, &read));
}

std::string RxBurstMode(uint16_t port) {
  rte_eth_burst_mode mode{};
  EXPECT_EQ(rte_eth_rx_burst_mode_get(port, 0, &mode), 0);
  return mode.info;
}

rte_mbuf* ReceiveOne(uint16_t port) {
  rte_mbuf* mbuf = nullptr;
  EXPECT_TRUE(Eventually([&] { return rte_eth_rx_burst(port, 0, &mbuf, 1) == 1; }));
  return mbuf;
}

TEST(Ethdev, ChecksumsAndPacketTypesAreFoundWhereTheyAreAskedFor) {
  const Pool pool(256);
  const Bytes good = WithChecksums(Ipv4Frame({.length = 200, .seed = 1}));
  Bytes bad = good;
  bad.back() ^= 1;
  for (const bool asked : {true, false}) {
    for (const char* const arguments : {"wire=loopback", "wire=loopback,notify=packet"}) {
      Vdev vdev(arguments);
      if (!asked) {
        ASSERT_EQ(rte_eth_dev_set_ptypes(vdev.port(), RTE_PTYPE_UNKNOWN, nullptr, 0), 0);
      }
      vdev.Start(1, pool.get(), asked ? RTE_ETH_RX_OFFLOAD_CHECKSUM : 0);
      EXPECT_EQ(RxBurstMode(vdev.port()).find("Software") != std::string::npos, asked);
      for (const Bytes& frame : {good, bad}) {
        SendFrame(vdev, pool, frame);
        rte_mbuf* const mbuf = ReceiveOne(vdev.port());
        ASSERT_NE(mbuf, nullptr);
        const uint64_t l4 =
            frame == good ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : RTE_MBUF_F_RX_L4_CKSUM_BAD;
        EXPECT_EQ(mbuf->ol_flags, asked ? RTE_MBUF_F_RX_IP_CKSUM_GOOD | l4 : 0);
        EXPECT_EQ(mbuf->packet_type,
                  asked ? RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP : 0u);
        rte_pktmbuf_free(mbuf);
      }
      EXPECT_EQ(rte_eth_dev_stop(vdev.port()), 0);
    }
  }
}

TEST(Ethdev, HashAndTableTellTheQueue) {
  constexpr uint16_t kQueues = 4;
  const Pool pool(4096);
  Vdev vdev("wire=gen:size=64+flows=200+count=5000");
  rte_eth_conf conf{};
  conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
  conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH;
  conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
  ASSERT_EQ(rte_eth_dev_configure(vdev.port(), kQueues, kQueues, &conf), 0);
  for (uint16_t queue = 0; queue < kQueues; ++queue) {
    ASSERT_EQ(rte_eth_rx_queue_setup(vdev.port(), queue, 512, SOCKET_ID_ANY, nullptr, pool.get()),
              0);
    ASSERT_EQ(rte_eth_tx_queue_setup(vdev.port(), queue, 512, SOCKET_ID_ANY, nullptr), 0);
  }
  rte_eth_dev_info info{};
  ASSERT_EQ(rte_eth_dev_info_get(vdev.port(), &info), 0);
  ASSERT_EQ(info.reta_size, kQueues) << "one pipe a queue";
  rte_eth_rss_reta_entry64 table{.mask = 0xf, .reta = {}};
  ASSERT_EQ(rte_eth_dev_rss_reta_query(vdev.port(), &table, kQueues), 0);
  for (uint16_t i = 0; i < kQueues; ++i) EXPECT_EQ(table.reta[i], i);
  EXPECT_EQ(rte_eth_dev_rss_reta_update(vdev.port(), &table, 8), -EINVAL);
  table.reta[1] = 0;
  EXPECT_EQ(rte_eth_dev_rss_reta_update(vdev.port(), &table, kQueues), -ENOTSUP) << "1 has none";
  for (uint16_t i = 0; i < kQueues; ++i) table.reta[i] = static_cast<uint16_t>(3 - i);
  EXPECT_EQ(rte_eth_dev_rss_reta_update(vdev.port(), &table, kQueues), 0);

  ASSERT_EQ(rte_eth_dev_start(vdev.port()), 0);
  EXPECT_EQ(rte_eth_dev_rss_reta_update(vdev.port(), &table, kQueues), -EBUSY);
  uint64_t received[kQueues] = {};
  EXPECT_TRUE(Eventually([&] {
    uint64_t sum = 0;
    for (uint16_t queue = 0; queue < kQueues; ++queue) {
      rte_mbuf* mbufs[kBurst];
      const uint16_t count = rte_eth_rx_burst(vdev.port(), queue, mbufs, kBurst);
      for (uint16_t i = 0; i < count; ++i) {
        EXPECT_EQ(mbufs[i]->ol_flags, RTE_MBUF_F_RX_RSS_HASH);
        EXPECT_EQ(queue, 3 - mbufs[i]->hash.rss % kQueues);
      }
      rte_pktmbuf_free_bulk(mbufs, count);
      sum += received[queue] += count;
    }
    return sum == 5000;
  }));
  for (const uint64_t count : received) EXPECT_GT(count, 0u);

  rte_eth_rss_conf rss{};
  ASSERT_EQ(rte_eth_dev_rss_hash_conf_get(vdev.port(), &rss), 0);
  EXPECT_EQ(rss.rss_hf, info.flow_type_rss_offloads) << "whatever was asked for";
  EXPECT_EQ(rte_eth_dev_rss_hash_update(vdev.port(), &rss), 0);
  uint8_t key[40] = {};
  rss.rss_key = key, rss.rss_key_len = sizeof(key);
  // The driver rejects a key; from 24.11 on, ethdev rejects its length first.
  EXPECT_LT(rte_eth_dev_rss_hash_update(vdev.port(), &rss), 0);
  rss = {};
  EXPECT_EQ(rte_eth_dev_rss_hash_update(vdev.port(), &rss), -ENOTSUP) << "it cannot but spread";
}

TEST(Ethdev, QueuesStopAndStartAlone) {
  const Pool pool(1024);
  const Bytes frame = Ipv4Frame({.length = 100});
  Vdev vdev("wire=loopback");
  vdev.Start(1, pool.get());
  rte_eth_rxq_info rx{};
  ASSERT_EQ(rte_eth_dev_rx_queue_stop(vdev.port(), 0), 0);
  ASSERT_EQ(rte_eth_rx_queue_info_get(vdev.port(), 0, &rx), 0);
  EXPECT_EQ(rx.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
  SendFrame(vdev, pool, frame);
  EXPECT_TRUE(Eventually([&] { return vdev.Xstat("model_rx_frames") == 1; }));
  rte_mbuf* mbuf = pool.Fill(frame);
  EXPECT_EQ(rte_eth_rx_burst(vdev.port(), 0, &mbuf, 1), 0);
  ASSERT_EQ(rte_eth_dev_rx_queue_start(vdev.port(), 0), 0);
  EXPECT_EQ(vdev.Stats().imissed, 1u) << "what came meanwhile";

  ASSERT_EQ(rte_eth_dev_tx_queue_stop(vdev.port(), 0), 0);
  EXPECT_EQ(rte_eth_tx_burst(vdev.port(), 0, &mbuf, 1), 0);
  rte_mbuf* other = pool.Fill(ArpFrame());
  EXPECT_EQ(rte_eth_tx_burst(vdev.port(), 0, &other, 1), 0) << "nor what it could not frame";
  rte_pktmbuf_free(other);
  EXPECT_EQ(rte_eth_tx_done_cleanup(vdev.port(), 0, 0), 0);
  ASSERT_EQ(rte_eth_dev_tx_queue_start(vdev.port(), 0), 0);
  EXPECT_EQ(rte_eth_tx_burst(vdev.port(), 0, &mbuf, 1), 1);
  EXPECT_EQ(ReceiveFrames(vdev.port(), 1), std::vector<Bytes>{frame});
  EXPECT_EQ(vdev.Stats().opackets, 2u);
  ASSERT_EQ(rte_eth_dev_stop(vdev.port()), 0);
  EXPECT_EQ(rte_eth_tx_done_cleanup(vdev.port(), 0, 0), 0) << "of a stopped port";
}

TEST(Ethdev, APortThatRunsIsUnplugged) {
  const Pool pool(1024);
  ASSERT_EQ(rte_vdev_init("net_enso_runs", "wire=gen:size=64"), 0);
  uint16_t port = 0;
  ASSERT_EQ(rte_eth_dev_get_port_by_name("net_enso_runs", &port), 0);
  const rte_eth_conf conf{};
  ASSERT_EQ(rte_eth_dev_configure(port, 1, 1, &conf), 0);
  ASSERT_EQ(rte_eth_rx_queue_setup(port, 0, 512, 0, nullptr, pool.get()), 0);
  ASSERT_EQ(rte_eth_tx_queue_setup(port, 0, 512, 0, nullptr), 0);
  ASSERT_EQ(rte_eth_dev_start(port), 0);
  EXPECT_EQ(rte_vdev_uninit("net_enso_runs"), 0);
  EXPECT_NE(rte_eth_dev_get_port_by_name("net_enso_runs", &port), 0);
}

TEST(Ethdev, AQueueThatIsStoppedWithThePortAccountsForItsFrames) {
  const Pool pool(1024);
  Vdev vdev("wire=gen:size=64+flows=64+count=4000,pause=off");
  rte_eth_conf conf{};
  ASSERT_EQ(rte_eth_dev_configure(vdev.port(), 2, 2, &conf), 0);
  for (uint16_t queue = 0; queue < 2; ++queue) {
    rte_eth_rxconf later{};
    later.rx_deferred_start = queue == 1;
    ASSERT_EQ(rte_eth_rx_queue_setup(vdev.port(), queue, 512, SOCKET_ID_ANY, &later, pool.get()),
              0);
    ASSERT_EQ(rte_eth_tx_queue_setup(vdev.port(), queue, 512, SOCKET_ID_ANY, nullptr), 0);
  }
  ASSERT_EQ(rte_eth_dev_start(vdev.port()), 0);
  uint64_t dropped = 0;
  EXPECT_TRUE(Eventually([&] {
    EchoBurst(vdev.port(), 0, &dropped);
    EXPECT_EQ(EchoBurst(vdev.port(), 1, &dropped), 0) << "it is to start later";
    return vdev.Xstat("model_rx_frames") + vdev.Stats().imissed == 4000;
  }));
  ASSERT_EQ(rte_eth_dev_stop(vdev.port()), 0);
  const rte_eth_stats stats = vdev.Stats();
  EXPECT_EQ(stats.ipackets + stats.imissed, 4000u);
  EXPECT_GT(stats.imissed, 1000u);
}

TEST(Ethdev, QueuesTellWhatTheyHold) {
  const Pool pool(1024);
  for (const char* const arguments : {"wire=loopback", "wire=loopback,notify=packet"}) {
    SCOPED_TRACE(arguments);
    Vdev vdev(arguments);
    vdev.Start(1, pool.get());
    EXPECT_EQ(rte_eth_rx_queue_count(vdev.port(), 0), 0);
    EXPECT_EQ(rte_eth_rx_descriptor_status(vdev.port(), 0, 0), RTE_ETH_RX_DESC_AVAIL);
    for (uint32_t i = 0; i < 40; ++i) SendFrame(vdev, pool, Ipv4Frame({.length = 60 + 30 * i}));
    EXPECT_TRUE(Eventually([&] { return rte_eth_rx_queue_count(vdev.port(), 0) == 40; }));
    EXPECT_EQ(rte_eth_rx_descriptor_status(vdev.port(), 0, 39), RTE_ETH_RX_DESC_DONE);
    EXPECT_EQ(rte_eth_rx_descriptor_status(vdev.port(), 0, 40), RTE_ETH_RX_DESC_AVAIL);
    EXPECT_EQ(rte_eth_rx_descriptor_status(vdev.port(), 0, 512), -EINVAL);
    EXPECT_EQ(rte_eth_tx_descriptor_status(vdev.port(), 0, 0), RTE_ETH_TX_DESC_DONE);
    rte_mbuf* mbufs[10];
    ASSERT_EQ(rte_eth_rx_burst(vdev.port(), 0, mbufs, 10), 10);
    rte_pktmbuf_free_bulk(mbufs, 10);
    EXPECT_EQ(rte_eth_rx_queue_count(vdev.port(), 0), 30);
    EXPECT_EQ(rte_eth_dev_stop(vdev.port()), 0);
  }
}

TEST(Ethdev, BadArgumentsFailTheProbe) {
  for (const char* arguments : {"colour=red", "pipes=0", "pipes=9000", "notify=never",
                                "wire=carrierpigeon", "wire=pcap:/no/such/file", "pipes"}) {
    EXPECT_NE(rte_vdev_init("net_enso_bad", arguments), 0) << arguments;
    uint16_t port = 0;
    EXPECT_NE(rte_eth_dev_get_port_by_name("net_enso_bad", &port), 0) << arguments;
  }
}

TEST(Ethdev, MorePipesThanTheNicHasFailTheConfiguration) {
  Vdev vdev("wire=loopback,pipes=8192");
  rte_eth_conf conf{};
  EXPECT_EQ(rte_eth_dev_configure(vdev.port(), 2, 2, &conf), -EINVAL);
  EXPECT_EQ(rte_eth_dev_configure(vdev.port(), 1, 1, &conf), 0);
}

TEST(Ethdev, StartsOnlyWithEveryQueueThatItIsConfiguredWith) {
  const Pool pool(1024);
  Vdev vdev("wire=loopback");
  const uint16_t port = vdev.port();
  const auto set_up_rx = [&](uint16_t queue) {
    return rte_eth_rx_queue_setup(port, queue, 512, SOCKET_ID_ANY, nullptr, pool.get());
  };
  const auto set_up_tx = [&](uint16_t queue) {
    return rte_eth_tx_queue_setup(port, queue, 512, SOCKET_ID_ANY, nullptr);
  };
  rte_eth_conf conf{};
  ASSERT_EQ(rte_eth_dev_configure(port, 2, 2, &conf), 0);
  EXPECT_EQ(rte_eth_dev_start(port), -EINVAL) << "none";
  ASSERT_EQ(set_up_rx(1), 0);
  ASSERT_EQ(set_up_tx(0), 0);
  ASSERT_EQ(set_up_tx(1), 0);
  EXPECT_EQ(rte_eth_dev_start(port), -EINVAL) << "a hole";
  ASSERT_EQ(rte_eth_dev_configure(port, 2, 3, &conf), 0);
  ASSERT_EQ(set_up_rx(0), 0);
  ASSERT_EQ(set_up_rx(1), 0);
  ASSERT_EQ(set_up_tx(0), 0);
  ASSERT_EQ(set_up_tx(1), 0);
  EXPECT_EQ(rte_eth_dev_start(port), -EINVAL) << "the last one is missing";
  ASSERT_EQ(set_up_tx(2), 0);
  EXPECT_EQ(rte_eth_dev_start(port), 0);
}

}  // namespace
}  // namespace sluice::net_enso
