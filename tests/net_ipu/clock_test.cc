// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a port's clock, timestamps of PTP frames and of all frames, and other information that
// ethdev reports about the port.
#include <gtest/gtest.h>
#include <rte_dev_info.h>
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "ethdev_fixture.h"
#include "regs/ipu.h"

namespace sluice::net_ipu::test {
namespace {

double Seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Returns the time of the port's clock, in seconds.
double ReadTime(uint16_t port) {
  timespec now{};
  EXPECT_EQ(rte_eth_timesync_read_time(port, &now), 0);
  EXPECT_LT(now.tv_nsec, 1'000'000'000);
  return Seconds(now);
}

TEST(Clock, IsSetReadAndAdjusted) {
  Port port("wire=loopback");
  port.Start();
  ASSERT_EQ(rte_eth_timesync_enable(port.id), 0);
  const timespec thousand{.tv_sec = 1000, .tv_nsec = 250'000'000};
  ASSERT_EQ(rte_eth_timesync_write_time(port.id, &thousand), 0);
  const double first = ReadTime(port.id);
  EXPECT_GE(first, 1000.25);
  EXPECT_LT(first, 1060);
  ASSERT_EQ(rte_eth_timesync_adjust_time(port.id, 5'000'000'000), 0);
  EXPECT_GE(ReadTime(port.id), first + 5);
  ASSERT_EQ(rte_eth_timesync_adjust_time(port.id, -500'000'000'000), 0);
  const double back = ReadTime(port.id);
  EXPECT_GT(back, 505);
  EXPECT_LT(back, 565);
  uint64_t clock_ns = 0;
  ASSERT_EQ(rte_eth_read_clock(port.id, &clock_ns), 0);
  EXPECT_GE(static_cast<double>(clock_ns) * 1e-9, back);
  const timespec no_time{.tv_sec = 0, .tv_nsec = 1'000'000'000};
  EXPECT_EQ(rte_eth_timesync_write_time(port.id, &no_time), -EINVAL);
}

std::string EtherFrame(uint16_t type) {
  std::string frame(64, '\x01');
  frame[12] = static_cast<char>(type >> 8), frame[13] = static_cast<char>(type);
  return frame;
}

TEST(Clock, TellsWhenAPtpFrameLeftAndWhenItCame) {
  // The port starts without offloads, so the burst function that is used before timesync is enabled
  // ignores flags.
  Port port("wire=loopback");
  port.Start();
  ASSERT_EQ(rte_eth_timesync_enable(port.id), 0);
  timespec sent{}, came{};
  EXPECT_EQ(rte_eth_timesync_read_tx_timestamp(port.id, &sent), -EINVAL);
  EXPECT_EQ(rte_eth_timesync_read_rx_timestamp(port.id, &came, 0), -EINVAL);
  constexpr uint64_t kPtp = RTE_MBUF_F_RX_IEEE1588_PTP | RTE_MBUF_F_RX_IEEE1588_TMST;
  const auto exchange = [&](uint16_t type, uint64_t tx_flags) {
    rte_mbuf* const mbuf = port.Fill(EtherFrame(type));
    mbuf->ol_flags |= tx_flags;
    port.Send(mbuf);
    uint64_t flags = 0;
    bool received = false;
    EXPECT_TRUE(port.ReceiveUntil([&] { return received; },
                                  [&](uint16_t, rte_mbuf* m) {
                                    flags = m->ol_flags;
                                    received = true;
                                  }));
    return flags & kPtp;
  };
  const double before = ReadTime(port.id);
  EXPECT_EQ(exchange(0x88f7, RTE_MBUF_F_TX_IEEE1588_TMST), kPtp);
  const double after = ReadTime(port.id);
  ASSERT_EQ(rte_eth_timesync_read_tx_timestamp(port.id, &sent), 0);
  ASSERT_EQ(rte_eth_timesync_read_rx_timestamp(port.id, &came, 0), 0);
  EXPECT_LE(before, Seconds(sent));
  EXPECT_LE(Seconds(sent), Seconds(came));
  EXPECT_LE(Seconds(came), after);
  EXPECT_EQ(rte_eth_timesync_read_tx_timestamp(port.id, &sent), -EINVAL) << "told once";
  EXPECT_EQ(rte_eth_timesync_read_rx_timestamp(port.id, &came, 0), -EINVAL);
  EXPECT_EQ(exchange(0x0801, 0), 0u);
  ASSERT_EQ(rte_eth_timesync_disable(port.id), 0);
  EXPECT_EQ(exchange(0x88f7, 0), 0u);
}

TEST(Clock, EveryFrameHasItsTimeWhereItIsAskedFor) {
  struct Case {
    const char* burst;
    uint16_t room;
    uint32_t length;
  };
#ifdef __aarch64__
  constexpr const char* kVectors = "Vector Neon Timestamps";
#else
  constexpr const char* kVectors = "Vector SSE Timestamps";
#endif
  for (const Case& c : {Case{kVectors, 2048, 100}, Case{"Scalar Scattered Timestamps", 256, 700}}) {
    Port port("wire=loopback", {.rx_offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP,
                                .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
                                .room = c.room});
    port.Start();
    rte_eth_burst_mode mode;
    ASSERT_EQ(rte_eth_rx_burst_mode_get(port.id, 0, &mode), 0);
    EXPECT_STREQ(mode.info, c.burst);
    const int offset = rte_mbuf_dynfield_lookup(RTE_MBUF_DYNFIELD_TIMESTAMP_NAME, nullptr);
    const int flag = rte_mbuf_dynflag_lookup(RTE_MBUF_DYNFLAG_RX_TIMESTAMP_NAME, nullptr);
    ASSERT_GE(offset, 0);
    ASSERT_GE(flag, 0);
    uint64_t last = 0;
    ASSERT_EQ(rte_eth_read_clock(port.id, &last), 0);
    for (int i = 0; i < 20; ++i) {
      rte_mbuf* head = nullptr;
      std::string sent;
      for (uint32_t at = 0; at < c.length; at += 100) {
        const std::string part(100, static_cast<char>(i + at));
        sent += part;
        rte_mbuf* const segment = port.Fill(part);
        if (head == nullptr) {
          head = segment;
        } else {
          ASSERT_EQ(rte_pktmbuf_chain(head, segment), 0);
        }
      }
      port.Send(head);
      bool received = false;
      EXPECT_TRUE(port.ReceiveUntil(
          [&] { return received; },
          [&](uint16_t, rte_mbuf* m) {
            received = true;
            std::string bytes(m->pkt_len, '\0');
            std::memmove(bytes.data(), rte_pktmbuf_read(m, 0, m->pkt_len, bytes.data()),
                         bytes.size());
            EXPECT_EQ(bytes, sent);
            EXPECT_TRUE(m->ol_flags & RTE_BIT64(flag));
            const uint64_t time = *RTE_MBUF_DYNFIELD(m, offset, rte_mbuf_timestamp_t*);
            EXPECT_GE(time, last);
            last = time;
          }));
    }
    uint64_t now = 0;
    ASSERT_EQ(rte_eth_read_clock(port.id, &now), 0);
    EXPECT_LE(last, now);
  }
}

TEST(Device, TellsItsVersion) {
  Port port("wire=loopback");
  char text[16];
  ASSERT_EQ(rte_eth_dev_fw_version_get(port.id, text, sizeof(text)), 0);
  EXPECT_STREQ(text, "1.0.0");
  EXPECT_EQ(rte_eth_dev_fw_version_get(port.id, text, 3), 6) << "bytes that it needs";
}

TEST(Device, DumpsItsRegisters) {
  using namespace regs::ipu;  // NOLINT: most lines use these names
  Port port("wire=loopback,queues=2", {.queues = 2});
  port.Start();
  rte_dev_reg_info info{};
  ASSERT_EQ(rte_eth_dev_get_reg_info(port.id, &info), 0);
  constexpr uint32_t kPort = (kStatistics + 8 * kStatisticCount) / 4;
  constexpr uint32_t kRing = 9;  // Offsets 0x00 to 0x20.
  ASSERT_EQ(info.length, kPort + 2 * 2 * kRing);
  ASSERT_EQ(info.width, 4u);
  std::vector<uint32_t> words(info.length + 1, 0xdddddddd);
  info.data = words.data();
  ASSERT_EQ(rte_eth_dev_get_reg_info(port.id, &info), 0);
  EXPECT_EQ(words[kDeviceId / 4], kDeviceIdValue);
  EXPECT_EQ(words[kQueuePairs / 4], 16u) << "of the device, whatever the port uses";
  for (uint32_t ring = 0; ring < 4; ++ring) {
    EXPECT_EQ(words[kPort + ring * kRing + kRingEntries / 4], 512u) << ring;
    EXPECT_EQ(words[kPort + ring * kRing + kRingStatus / 4], 1u) << ring;
  }
  EXPECT_EQ(words.back(), 0xdddddddd);
  info.length = 3;
  EXPECT_EQ(rte_eth_dev_get_reg_info(port.id, &info), -ENOTSUP) << "a part";
}

}  // namespace
}  // namespace sluice::net_ipu::test
