// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the driver's rings with a stepped model: every ring size, typical and odd burst
// sizes, both receive paths, and hostile write-backs. Also checks that no mbuf leaks.
#include <gtest/gtest.h>
#include <rte_malloc.h>

#include <algorithm>
#include <random>

#include "queue_fixture.h"

namespace sluice::net_ipu::test {
namespace {

using namespace regs::ipu;  // NOLINT: most tests use these names

using RxBurst = uint16_t (*)(void*, rte_mbuf**, uint16_t);

struct EchoCase {
  uint32_t entries;
  uint16_t burst;
  RxBurst receive;
  uint64_t tx_offloads;
};

class Echo : public ::testing::TestWithParam<EchoCase> {};

TEST_P(Echo, EveryFrameReturnsOnceInOrderAndUnchanged) {
  const EchoCase& c = GetParam();
  CheckedPool pool(4 * c.entries + 512);
  QueuePair pair(pool.get(), c.entries, false, c.tx_offloads);
  const uint32_t total = 3 * c.entries + 17;
  uint32_t offered = 0;
  uint32_t echoed = 0;
  std::mt19937 random(c.entries * 64 + c.burst);
  while (echoed < total) {
    const uint32_t batch = std::min<uint32_t>(random() % 48, total - offered);
    for (uint32_t i = 0; i < batch && pair.Offer(Numbered(offered)); ++i) ++offered;
    rte_mbuf* packets[64];
    for (uint16_t n; (n = c.receive(pair.rx, packets, c.burst)) != 0;) {
      ASSERT_LE(n, c.burst);
      uint16_t sent = 0;
      while (sent < n) {
        sent += TxBurstSimple(pair.tx, packets + sent, static_cast<uint16_t>(n - sent));
        if (sent < n) pair.Step();
      }
      echoed += n;
    }
    pair.Step();
  }
  ASSERT_EQ(pair.sent.frames.size(), total);
  for (uint32_t i = 0; i < total; ++i) ASSERT_EQ(pair.sent.frames[i], Numbered(i)) << i;
  EXPECT_EQ(pair.rx->packets, total);
  EXPECT_EQ(pair.tx->packets, total);
  EXPECT_EQ(pair.rx->bytes, pair.tx->bytes);
}

std::vector<EchoCase> EchoCases() {
  std::vector<EchoCase> cases;
  for (const RxBurst receive : {RxBurstScalar, RxBurstVector}) {
    for (const uint16_t burst : {1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 63, 64}) {
      cases.push_back({128, burst, receive, RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE});
      cases.push_back({64, burst, receive, 0});
    }
    for (const uint32_t entries : {64, 128, 256, 512, 1024, 2048, 4096}) {
      cases.push_back({entries, 32, receive, RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE});
    }
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(RingsAndBursts, Echo, ::testing::ValuesIn(EchoCases()));

/// Offset of IOVAs from virtual addresses, as on a bus with an IOMMU.
constexpr uint64_t kShift = uint64_t{1} << 40;

TEST(Iova, TheDeviceKnowsBuffersAsTheirMbufsDo) {
  CheckedPool pool(1024);
  rte_mempool_obj_iter(
      pool.get(),
      [](rte_mempool*, void*, void* mbuf, unsigned) {
        static_cast<rte_mbuf*>(mbuf)->buf_iova += kShift;
      },
      nullptr);
  QueuePair pair(pool.get(), 64, false, 0, Addresses::kIova);
  for (uint32_t i = 0; i < 64; ++i) {
    ASSERT_EQ(pair.rx->ring[i].low, pair.rx->mbufs[i]->buf_iova + RTE_PKTMBUF_HEADROOM);
  }
  const auto add = [](const rte_memseg_list* list, void* dma) {
    static_cast<bar::DmaSpace*>(dma)->Add(reinterpret_cast<uint64_t>(list->base_va) + kShift,
                                          list->base_va, list->len);
    return 0;
  };
  rte_memseg_list_walk(add, &pair.nic.dma());
  for (uint32_t i = 0; i < 40; ++i) ASSERT_TRUE(pair.Offer(Numbered(i)));
  rte_mbuf* packets[64];
  const uint16_t received = RxBurstScalar(pair.rx, packets, 64);
  ASSERT_EQ(received, 40);
  ASSERT_EQ(TxBurstSimple(pair.tx, packets, 20), 20);
  ASSERT_EQ(TxBurstFull(pair.tx, packets + 20, 20), 20);
  EXPECT_EQ(pair.tx->ring[39].low, packets[39]->buf_iova + RTE_PKTMBUF_HEADROOM);
  pair.Step();
  ASSERT_EQ(pair.sent.frames.size(), 40u);
  for (uint32_t i = 0; i < 40; ++i) EXPECT_EQ(pair.sent.frames[i], Numbered(i)) << i;
}

/// Returns, as text, the fields of a received mbuf that ethdev guarantees.
std::string Describe(const rte_mbuf* m) {
  char text[256];
  std::snprintf(
      text, sizeof(text),
      "type %x flags %lx len %u/%u vlan %u rss %x mark %x off %u refs %u segs %u port %u: ",
      m->packet_type, m->ol_flags, m->pkt_len, m->data_len, m->vlan_tci,
      m->ol_flags & RTE_MBUF_F_RX_RSS_HASH ? m->hash.rss : 0,
      m->ol_flags & RTE_MBUF_F_RX_FDIR_ID ? m->hash.fdir.hi : 0, m->data_off,
      rte_mbuf_refcnt_read(m), m->nb_segs, m->port);
  return text + BytesOf(m);
}

std::vector<std::string> ReceiveAll(RxBurst receive, const std::vector<std::string>& frames,
                                    uint16_t burst) {
  CheckedPool pool(2048);
  QueuePair pair(pool.get(), 256);
  bar::Bar registers = pair.nic.registers();
  registers.Write32(kRssFields, 0x3f);
  registers.Write32(kRssKey, 0x12345678);
  registers.Write32(kRssKey + kRssKeyBytes - 4, 0x9abcdef0);
  registers.Write32(kPortControl, kPortReceive | kPortPromiscuous | kPortChecksum);
  registers.Write32(kFlowFields, kFlowMatchProtocol);  // Matches every UDP frame over IPv4.
  registers.Write32(kFlowProtocol, 4 << 8 | 17);
  registers.Write32(kFlowAction, kFlowActionMark);
  registers.Write32(kFlowMark, 0xbeef);
  registers.Write32(kFlowCommand, static_cast<uint32_t>(FlowCommand::kAdd));
  pair.nic.Drain();
  std::vector<std::string> seen;
  rte_mbuf* packets[64];
  for (size_t i = 0; i < frames.size(); ++i) {
    pair.Offer(frames[i]);
    if (i % 29 != 28 && i + 1 != frames.size()) continue;
    for (uint16_t n; (n = receive(pair.rx, packets, burst)) != 0;) {
      for (uint16_t k = 0; k < n; ++k) seen.push_back(Describe(packets[k]));
      rte_pktmbuf_free_bulk(packets, n);
    }
    pair.Step();
  }
  return seen;
}

TEST(VectorReceive, GivesExactlyTheMbufsOfTheScalarPath) {
  std::mt19937 random(5);
  std::vector<std::string> frames;
  for (uint32_t i = 0; i < 1500; ++i) {
    std::string frame = Numbered(i, 60, 1400);
    frame[12] = 0x08;
    frame[13] = random() % 8 == 0 ? 0x06 : 0x00;
    frame[14] = random() % 8 == 0 ? 0x46 : 0x45;
    frame[16] = 0, frame[17] = 46, frame[20] = frame[21] = 0;
    frame[23] = random() % 3 == 0 ? 6 : random() % 3 == 0 ? 1 : 17;
    frames.push_back(frame);
  }
  const auto expected = ReceiveAll(RxBurstScalar, frames, 32);
  ASSERT_EQ(expected.size(), frames.size());
  const auto marked = [](const std::string& m) { return m.find("mark beef") != std::string::npos; };
  EXPECT_GT(std::count_if(expected.begin(), expected.end(), marked), 300);
  for (const uint16_t burst : {3, 4, 32, 64}) {
    EXPECT_EQ(ReceiveAll(RxBurstVector, frames, burst), expected) << "burst " << burst;
  }
}

class HostileWriteBack : public ::testing::TestWithParam<RxBurst> {};

TEST_P(HostileWriteBack, IsCountedAndTheFramesAroundItArrive) {
  CheckedPool pool(1024);
  QueuePair pair(pool.get(), 64);
  const uint64_t lies[] = {kDone | kRxEndOfPacket,                        // No bytes.
                           kDone | kRxEndOfPacket | (pair.rx->room + 1),  // More than posted.
                           kDone | kRxEndOfPacket | 0xffff, kDone | 60};  // No end of packet.
  for (uint32_t i = 0; i < 24; ++i) pair.rx->ring[i] = {0, kDone | kRxEndOfPacket | 60};
  for (uint32_t i = 0; i < 4; ++i) pair.rx->ring[2 + 5 * i].high = lies[i];
  rte_mbuf* packets[64];
  uint32_t received = 0;
  for (uint16_t n; (n = GetParam()(pair.rx, packets, 32)) != 0; received += n) {
    rte_pktmbuf_free_bulk(packets, n);
  }
  EXPECT_EQ(received, 20u);
  EXPECT_EQ(pair.rx->bad_writeback, 4u);
}

TEST_P(HostileWriteBack, NothingBeyondThePostedDescriptorsIsTaken) {
  CheckedPool pool(1024);
  QueuePair pair(pool.get(), 64);
  pair.rx->tail -= 32;  // Simulates a lack of buffers for half of the ring.
  for (uint32_t i = 0; i < 64; ++i) pair.rx->ring[i] = {0, kDone | kRxEndOfPacket | 60};
  rte_mempool_put_bulk(pool.get(), reinterpret_cast<void**>(pair.rx->mbufs + 32), 32);
  rte_mbuf* packets[64];
  const uint16_t received = GetParam()(pair.rx, packets, 64);
  EXPECT_EQ(received, 32u);
  rte_pktmbuf_free_bulk(packets, received);
}
TEST_P(HostileWriteBack, ACompletionAheadOfAnotherCountsInItsTurn) {
  CheckedPool pool(1024);
  QueuePair pair(pool.get(), 64);
  rte_mbuf* packets[64];
  for (const uint32_t i : {0, 1, 3}) pair.rx->ring[i] = {0, kDone | kRxEndOfPacket | (60 + i)};
  const uint16_t first = GetParam()(pair.rx, packets, 32);
  EXPECT_EQ(first, 2u);
  EXPECT_EQ(pair.rx->bytes, 60u + 61u);
  rte_pktmbuf_free_bulk(packets, first);
  pair.rx->ring[2] = {0, kDone | kRxEndOfPacket | 62};
  const uint16_t rest = GetParam()(pair.rx, packets, 32);
  EXPECT_EQ(rest, 2u);
  EXPECT_EQ(pair.rx->bytes, 60u + 61u + 62u + 63u);
  rte_pktmbuf_free_bulk(packets, rest);
}
INSTANTIATE_TEST_SUITE_P(BothPaths, HostileWriteBack,
                         ::testing::Values(RxBurstScalar, RxBurstVector));

TEST(HostileWriteBack, AFrameThatNeverEndsIsGivenUp) {
  CheckedPool pool(2048);
  QueuePair pair(pool.get(), 256, true);
  for (uint32_t i = 0; i < 200; ++i) pair.rx->ring[i] = {0, kDone | 100};
  rte_mbuf* packets[8];
  EXPECT_EQ(RxBurstScattered(pair.rx, packets, 8), 0u);
  EXPECT_GE(pair.rx->bad_writeback, 1u);
}

TEST(ScatteredReceive, PutsLongFramesIntoChains) {
  CheckedPool pool(2048, 256);
  QueuePair pair(pool.get(), 256, true);
  rte_mbuf* packet;
  for (uint32_t i = 0; i < 400; ++i) {
    const std::string frame = Numbered(i, 60, 3000);
    pair.Offer(frame);
    ASSERT_EQ(RxBurstScattered(pair.rx, &packet, 1), 1u);
    EXPECT_EQ(BytesOf(packet), frame);
    EXPECT_EQ(packet->pkt_len, frame.size());
    EXPECT_EQ(packet->nb_segs, (frame.size() + 255) / 256);
    EXPECT_EQ(rte_mbuf_check(packet, 1, nullptr), 0);
    rte_pktmbuf_free(packet);
    pair.Step();
  }
}

TEST(ScatteredReceive, AFrameInProgressAtStopIsNotLeaked) {
  CheckedPool pool(2048, 256);
  QueuePair pair(pool.get(), 256, true);
  pair.rx->ring[0] = {0, kDone | 256};
  rte_mbuf* packet;
  EXPECT_EQ(RxBurstScattered(pair.rx, &packet, 1), 0u);
}

TEST(MultiSegmentTransmit, GathersChainsAndFreesEverySegment) {
  CheckedPool pool(2048, 256);
  QueuePair pair(pool.get(), 256, false, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
  std::vector<std::string> frames;
  for (uint32_t i = 0; i < 700; ++i) {
    frames.push_back(Numbered(i, 60, 1800));
    rte_mbuf* packet = MbufOf(pool.get(), frames.back(), 60 + i % 190);
    while (TxBurstFull(pair.tx, &packet, 1) == 0) pair.Step();
  }
  pair.Step();
  EXPECT_EQ(pair.sent.frames, frames);
}

TEST(MultiSegmentTransmit, ChainsBeyondTheDeviceAreRefusedAndCounted) {
  CheckedPool pool(512, 256);
  QueuePair pair(pool.get(), 128, false, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
  rte_mbuf* packets[] = {MbufOf(pool.get(), std::string(kMaxSegments + 1, 'x'), 1),
                         MbufOf(pool.get(), Numbered(1))};
  EXPECT_EQ(TxBurstFull(pair.tx, packets, 2), 2u);
  pair.Step();
  EXPECT_EQ(pair.tx->bad_packet, 1u);
  EXPECT_EQ(pair.sent.frames, std::vector<std::string>{Numbered(1)});
}

TEST(Transmit, AChecksumBehindMoreThanADescriptorSaysIsRefused) {
  CheckedPool pool(512);
  QueuePair pair(pool.get(), 64, false, RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
  for (const int l3_len : {255, 256, 264}) {
    rte_mbuf* packet = MbufOf(pool.get(), std::string(600, 'x'));
    packet->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM;
    packet->l2_len = 14;
    packet->l3_len = static_cast<uint16_t>(l3_len);
    EXPECT_EQ(TxBurstFull(pair.tx, &packet, 1), 1u);
  }
  pair.Step();
  EXPECT_EQ(pair.tx->bad_packet, 2u);
  EXPECT_EQ(pair.sent.frames.size(), 1u);
}

TEST(Transmit, AFullRingTakesWhatFitsAndKeepsTheRestWithTheCaller) {
  CheckedPool pool(512);
  QueuePair pair(pool.get(), 64);
  rte_mbuf* packets[64];
  for (uint32_t i = 0; i < 64; ++i) packets[i] = MbufOf(pool.get(), Numbered(i));
  EXPECT_EQ(TxBurstSimple(pair.tx, packets, 40), 40u);
  EXPECT_EQ(TxBurstSimple(pair.tx, packets + 40, 24), 24u);
  rte_mbuf* extra = MbufOf(pool.get(), Numbered(64));
  EXPECT_EQ(TxBurstSimple(pair.tx, &extra, 1), 0u);
  pair.Step();
  EXPECT_EQ(TxBurstSimple(pair.tx, &extra, 1), 1u);
  pair.Step();
  EXPECT_EQ(pair.sent.frames.size(), 65u);
}

TEST(Transmit, AnMbufThatSomeoneElseHoldsOutlivesItsTransmission) {
  CheckedPool pool(512);
  QueuePair pair(pool.get(), 64);
  rte_mbuf* packets[64];
  for (uint32_t i = 0; i < 64; ++i) packets[i] = MbufOf(pool.get(), Numbered(i));
  rte_mbuf* const held = packets[5];
  rte_mbuf_refcnt_update(held, 1);
  EXPECT_EQ(TxBurstSimple(pair.tx, packets, 64), 64u);
  pair.Step();
  EXPECT_EQ(TxClean(*pair.tx, 0), 64u);
  EXPECT_EQ(rte_mbuf_refcnt_read(held), 1);
  EXPECT_EQ(BytesOf(held), Numbered(5));
  rte_pktmbuf_free(held);
}

TEST(Transmit, MbufsOfTwoPoolsReturnEachToItsOwn) {
  for (const uint32_t run : {1u, 3u, 31u, 32u}) {  // A batch has 32 mbufs.
    SCOPED_TRACE(run);
    CheckedPool own(512), other(512);
    QueuePair pair(own.get(), 64);
    const uint32_t posted = own.in_use();
    rte_mbuf* packets[64];
    for (uint32_t i = 0; i < 64; ++i) {
      packets[i] = MbufOf(i / run % 2 == 0 ? own.get() : other.get(), Numbered(i));
    }
    EXPECT_EQ(TxBurstSimple(pair.tx, packets, 64), 64u);
    pair.Step();
    EXPECT_EQ(TxClean(*pair.tx, 0), 64u);
    EXPECT_EQ(own.in_use(), posted);
    EXPECT_EQ(other.in_use(), 0u);
  }
}

TEST(Transmit, StoppingWaitsForWhatIsPosted) {
  CheckedPool pool(512);
  QueuePair pair(pool.get(), 64);
  rte_mbuf* packet = MbufOf(pool.get(), Numbered(1));
  TxBurstSimple(pair.tx, &packet, 1);
  pair.Step();
  pair.nic.Control([&] {
    TxStop(*pair.tx);
    return 0;
  });
  EXPECT_EQ(pair.sent.frames.size(), 1u);
}

TEST(Transmit, StoppingCountsWhatTheDeviceDoesNotTake) {
  CheckedPool pool(512, 256);
  QueuePair pair(pool.get(), 64, false, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
  rte_mbuf* packets[17];
  for (rte_mbuf*& packet : packets) packet = MbufOf(pool.get(), std::string(600, 'x'), 256);
  EXPECT_EQ(TxBurstFull(pair.tx, packets, 10), 10u) << "three segments each";
  pair.Step();
  EXPECT_EQ(TxBurstFull(pair.tx, packets + 10, 7), 7u);
  pair.nic.Control([&] {
    TxStop(*pair.tx);
    return 0;
  });
  EXPECT_EQ(pair.sent.frames.size(), 10u);
  EXPECT_EQ(pair.tx->stop_discards, 7u);
}

TEST(Receive, BuffersThatAPoolPinsStayMarkedAsThat) {
  constexpr uint32_t kMbufs = 255, kRoom = RTE_PKTMBUF_HEADROOM + 2048;
  void* const memory = rte_malloc("pinned", kMbufs * kRoom, 4096);
  ASSERT_NE(memory, nullptr);
  const rte_pktmbuf_extmem where{memory, rte_malloc_virt2iova(memory), kMbufs * kRoom, kRoom};
  rte_mempool* const pool =
      rte_pktmbuf_pool_create_extbuf("pinned", kMbufs, 0, 0, kRoom, SOCKET_ID_ANY, &where, 1);
  ASSERT_NE(pool, nullptr);
  {
    QueuePair pair(pool, 64);
    for (const RxBurst receive : {RxBurstScalar, RxBurstVector}) {
      for (uint32_t i = 0; i < 8; ++i) ASSERT_TRUE(pair.Offer(Numbered(i)));
      rte_mbuf* packets[8];
      ASSERT_EQ(receive(pair.rx, packets, 8), 8u);
      for (uint32_t i = 0; i < 8; ++i) {
        EXPECT_NE(packets[i]->ol_flags & RTE_MBUF_F_EXTERNAL, 0u);
        EXPECT_EQ(BytesOf(packets[i]), Numbered(i));
        rte_pktmbuf_free(packets[i]);
      }
    }
  }
  EXPECT_EQ(rte_mempool_avail_count(pool), kMbufs);
  rte_mempool_free(pool);
  rte_free(memory);
}

TEST(Receive, AnEmptyPoolCostsFramesAndRecovers) {
  CheckedPool pool(96, 2048, 0);
  QueuePair pair(pool.get(), 64);
  std::vector<rte_mbuf*> held;
  rte_mbuf* packets[64];
  for (uint32_t i = 0; i < 64; ++i) pair.Offer(Numbered(i));
  for (uint16_t n; (n = RxBurstVector(pair.rx, packets, 64)) != 0;) {
    held.insert(held.end(), packets, packets + n);
    pair.Step();
    for (uint32_t i = 0; i < 32; ++i) pair.Offer(Numbered(i));
  }
  EXPECT_GT(pair.rx->no_mbuf, 0u);
  EXPECT_EQ(held.size(), 96u);
  rte_pktmbuf_free_bulk(held.data(), static_cast<unsigned>(held.size()));
  EXPECT_EQ(RxBurstVector(pair.rx, packets, 64), 0u);  // The burst refills the ring.
  pair.Step();
  pair.Offer(Numbered(3));
  ASSERT_EQ(RxBurstVector(pair.rx, packets, 64), 1u);
  EXPECT_EQ(BytesOf(packets[0]), Numbered(3));
  rte_pktmbuf_free(packets[0]);
}

TEST(Receive, AQueueRestartsEmptyManyTimes) {
  CheckedPool pool(1024);
  QueuePair pair(pool.get(), 256);
  rte_mbuf* packets[64];
  for (uint32_t round = 0; round < 10; ++round) {
    for (uint32_t i = 0; i < 100; ++i) pair.Offer(Numbered(i));
    const uint16_t n = RxBurstVector(pair.rx, packets, 64);
    EXPECT_EQ(n, 64u);
    rte_pktmbuf_free_bulk(packets, n);
    const int error = pair.nic.Control([&] {
      RxStop(*pair.rx);
      return RxStart(*pair.rx, false);
    });
    ASSERT_EQ(error, 0);
    EXPECT_EQ(pair.rx->stop_discards, 36u * (round + 1));
  }
}

}  // namespace
}  // namespace sluice::net_ipu::test
