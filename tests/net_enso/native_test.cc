// SPDX-License-Identifier: BSD-3-Clause
//
// Tests native pipes end to end over the model NIC and its wire.
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "net_enso/fixture.h"
#include "net_enso/rte_pmd_enso.h"
#include "packet/frame_length.h"

namespace sluice::net_enso {
namespace {

/// A notification buffer of a port.
class Nb {
 public:
  explicit Nb(const Vdev& vdev) { EXPECT_EQ(rte_pmd_enso_nb_open(vdev.port(), &nb_), 0); }
  ~Nb() { rte_pmd_enso_nb_close(nb_); }
  rte_pmd_enso_nb* get() const { return nb_; }

  rte_pmd_enso_pipe* Open(rte_pmd_enso_pipe_kind kind, uint32_t flags = 0) const {
    rte_pmd_enso_pipe* pipe = nullptr;
    EXPECT_EQ(rte_pmd_enso_pipe_open(nb_, kind, flags, &pipe), 0);
    return pipe;
  }
  /// Calls `use` for each received span.
  template <typename Use>
  void Poll(Use use) const {
    rte_pmd_enso_span spans[8];
    const uint16_t count = rte_pmd_enso_poll(nb_, spans, 8, 0);
    for (uint16_t i = 0; i < count; ++i) use(spans[i]);
  }

 private:
  rte_pmd_enso_nb* nb_ = nullptr;
};

/// Returns the frames of a span, split by their lengths.
std::vector<Bytes> FramesOf(const rte_pmd_enso_span& span) {
  std::vector<Bytes> frames;
  for (uint32_t at = 0; at < span.bytes;) {
    const uint32_t length = packet::FrameLength(span.data + at);
    EXPECT_GT(length, 0u);
    frames.emplace_back(span.data + at, span.data + at + length);
    at += packet::FlitSpan(std::max(length, 1u));
  }
  return frames;
}

/// Copies consecutive frames into a TX pipe, each at a flit boundary, and sends them with one call.
void SendFrames(rte_pmd_enso_nb* nb, rte_pmd_enso_pipe* pipe, const std::vector<Bytes>& frames) {
  uint8_t* data = nullptr;
  uint32_t bytes = 0;
  const uint32_t room = rte_pmd_enso_tx_room(pipe, &data);
  for (const Bytes& frame : frames) {
    ASSERT_LE(bytes + packet::FlitSpan(static_cast<uint32_t>(frame.size())), room);
    std::memcpy(data + bytes, frame.data(), frame.size());
    bytes += packet::FlitSpan(static_cast<uint32_t>(frame.size()));
  }
  ASSERT_EQ(rte_pmd_enso_send(pipe, data, bytes, 0), 0);
  rte_pmd_enso_flush(nb);
}

TEST(Native, PortsOfOtherDriversAreNotSupported) {
  const Vdev vdev("wire=loopback");
  EXPECT_TRUE(rte_pmd_enso_supported(vdev.port()));
  EXPECT_FALSE(rte_pmd_enso_supported(RTE_MAX_ETHPORTS - 1));
  EXPECT_FALSE(rte_pmd_enso_supported(UINT16_MAX));
  rte_pmd_enso_nb* nb = nullptr;
  EXPECT_EQ(rte_pmd_enso_nb_open(RTE_MAX_ETHPORTS - 1, &nb), -ENODEV);
  EXPECT_EQ(rte_pmd_enso_set_round_robin(RTE_MAX_ETHPORTS - 1, true), -ENODEV);
}

TEST(Native, EveryFrameOfTheWireArrivesOnSomeFallbackPipe) {
  constexpr uint32_t kFrames = 100'000;
  const Vdev vdev("wire=gen:size=64+flows=100+count=100000");
  const Nb nb(vdev);
  std::map<rte_pmd_enso_pipe*, uint64_t> bytes;
  for (int i = 0; i < 4; ++i) bytes[nb.Open(RTE_PMD_ENSO_RX, RTE_PMD_ENSO_FALLBACK)] = 0;
  ASSERT_EQ(rte_eth_dev_set_link_up(vdev.port()), 0);
  uint64_t total = 0;
  EXPECT_TRUE(Eventually([&] {
    nb.Poll([&](const rte_pmd_enso_span& span) {
      bytes[span.pipe] += span.bytes;
      total += span.bytes;
      rte_pmd_enso_release(span.pipe, span.bytes);
    });
    return total == uint64_t{kFrames} * 64;
  })) << total;
  EXPECT_EQ(bytes.size(), 4u) << "no span of a pipe that was not opened";
  for (const auto& [pipe, received] : bytes) EXPECT_GT(received, 0u);
  EXPECT_EQ(vdev.Stats().imissed, 0u);
}

/// Zero copy: the test sends received memory and returns it to the NIC after transmission.
TEST(Native, EchoInPlaceReturnsEveryFrameOnceAndWhole) {
  const Vdev vdev("wire=gen:size=random+flows=50+count=30000,verify=full");
  const Nb nb(vdev);
  nb.Open(RTE_PMD_ENSO_RXTX, RTE_PMD_ENSO_FALLBACK);
  nb.Open(RTE_PMD_ENSO_RXTX, RTE_PMD_ENSO_FALLBACK);
  ASSERT_EQ(rte_eth_dev_set_link_up(vdev.port()), 0);
  EXPECT_TRUE(Eventually([&] {
    nb.Poll([&](const rte_pmd_enso_span& span) {
      ASSERT_EQ(rte_pmd_enso_send(span.pipe, span.data, span.bytes, span.bytes), 0);
    });
    rte_pmd_enso_flush(nb.get());
    return vdev.Xstat("wire_returned") == 30'000;
  }));
  EXPECT_EQ(vdev.Xstat("wire_lost"), 0u);
  EXPECT_EQ(vdev.Xstat("wire_corrupted"), 0u);
  EXPECT_EQ(vdev.Xstat("wire_duplicated"), 0u);
  EXPECT_EQ(vdev.Xstat("wire_reordered"), 0u);
  EXPECT_EQ(vdev.Xstat("nb_bad_notifications"), 0u);
  EXPECT_EQ(vdev.Xstat("nb_bad_completions"), 0u);
  EXPECT_TRUE(Eventually([&] {
    nb.Poll([](const rte_pmd_enso_span&) { FAIL() << "nothing more arrives"; });
    return rte_pmd_enso_tx_pending(nb.get()) == 0;
  }));
}

TEST(Native, TxPipeSendsWhatWasComposedInOrder) {
  const Vdev vdev("wire=loopback");
  ASSERT_EQ(rte_eth_dev_set_link_up(vdev.port()), 0);
  const Nb nb(vdev);
  rte_pmd_enso_pipe* tx = nb.Open(RTE_PMD_ENSO_TX);
  nb.Open(RTE_PMD_ENSO_RX, RTE_PMD_ENSO_FALLBACK);
  std::mt19937 random(3);
  uint32_t seed = 0;
  // Sends enough bytes to make the TX pipe and the RX pipe wrap twice.
  for (int round = 0; round < 60; ++round) {
    std::vector<Bytes> sent;
    for (int i = 0; i < 100; ++i) {
      sent.push_back(
          Ipv4Frame({.length = static_cast<uint32_t>(60 + random() % 1455), .seed = seed++}));
    }
    SendFrames(nb.get(), tx, sent);
    std::vector<Bytes> received;
    ASSERT_TRUE(Eventually([&] {
      nb.Poll([&](const rte_pmd_enso_span& span) {
        for (Bytes& frame : FramesOf(span)) received.push_back(std::move(frame));
        rte_pmd_enso_release(span.pipe, span.bytes);
      });
      return received.size() >= sent.size();
    }));
    ASSERT_EQ(received, sent) << "round " << round;
  }
}

TEST(Native, FlowsReachTheirPipeAndOthersFallBack) {
  const Vdev vdev("wire=loopback");
  ASSERT_EQ(rte_eth_dev_set_link_up(vdev.port()), 0);
  const Nb nb(vdev);
  rte_pmd_enso_pipe* tx = nb.Open(RTE_PMD_ENSO_TX);
  rte_pmd_enso_pipe* fallback = nb.Open(RTE_PMD_ENSO_RX, RTE_PMD_ENSO_FALLBACK);
  rte_pmd_enso_pipe* udp = nb.Open(RTE_PMD_ENSO_RX);
  rte_pmd_enso_pipe* tcp = nb.Open(RTE_PMD_ENSO_RX);
  const rte_pmd_enso_flow udp_flow{
      .dst_ip = 1, .src_ip = 77, .dst_port = 80, .src_port = 5, .protocol = IPPROTO_UDP};
  const rte_pmd_enso_flow tcp_flow{
      .dst_ip = 2, .src_ip = 3, .dst_port = 80, .src_port = 4, .protocol = IPPROTO_TCP};
  ASSERT_EQ(rte_pmd_enso_pipe_bind(udp, &udp_flow), 0);
  ASSERT_EQ(rte_pmd_enso_pipe_bind(tcp, &tcp_flow), 0);
  EXPECT_EQ(rte_pmd_enso_pipe_bind(tcp, &udp_flow), -EEXIST);
  EXPECT_EQ(rte_pmd_enso_pipe_bind(tx, &udp_flow), -EINVAL);

  const auto goes_to = [&](const FrameSpec& spec) {
    rte_pmd_enso_pipe* pipe = nullptr;
    SendFrames(nb.get(), tx, {Ipv4Frame(spec)});
    EXPECT_TRUE(Eventually([&] {
      nb.Poll([&](const rte_pmd_enso_span& span) {
        pipe = span.pipe;
        rte_pmd_enso_release(span.pipe, span.bytes);
      });
      return pipe != nullptr;
    }));
    return pipe;
  };
  EXPECT_EQ(goes_to({.dst_ip = 1, .dst_port = 80, .src_ip = 9, .src_port = 9}), udp)
      << "UDP is looked up by destination alone";
  EXPECT_EQ(goes_to({.dst_ip = 1, .dst_port = 81}), fallback);
  FrameSpec segment{
      .dst_ip = 2, .dst_port = 80, .src_ip = 3, .src_port = 4, .protocol = IPPROTO_TCP};
  EXPECT_EQ(goes_to(segment), tcp);
  segment.tcp_flags = 0x02;
  EXPECT_EQ(goes_to(segment), fallback) << "a SYN is looked up by destination alone";
  ASSERT_EQ(rte_pmd_enso_pipe_unbind(udp, &udp_flow), 0);
  EXPECT_EQ(rte_pmd_enso_pipe_unbind(udp, &udp_flow), -EINVAL);
  EXPECT_EQ(goes_to({.dst_ip = 1, .dst_port = 80}), fallback);
}

TEST(Native, WhatTheTableWouldLoseIsRefused) {
  const Vdev vdev("wire=loopback");
  const Nb nb(vdev);
  rte_pmd_enso_pipe* pipe = nb.Open(RTE_PMD_ENSO_RX);
  std::mt19937 random(11);
  int result = 0;
  uint32_t bound = 0;
  for (; result == 0 && bound < 6000; ++bound) {
    const rte_pmd_enso_flow flow{.dst_ip = static_cast<uint32_t>(random()),
                                 .src_ip = 0,
                                 .dst_port = static_cast<uint16_t>(random()),
                                 .src_port = 0,
                                 .protocol = IPPROTO_UDP};
    result = rte_pmd_enso_pipe_bind(pipe, &flow);
  }
  EXPECT_EQ(result, -ENOSPC);
  EXPECT_EQ(vdev.Xstat("model_flow_inserts_lost"), 0u);
  EXPECT_EQ(vdev.Xstat("model_tx_configs"), bound - 1) << "the refused one was never sent";
}

TEST(Native, FallbackPipesCloseInAnyOrderUnderTraffic) {
  const Vdev vdev("wire=gen:size=200+flows=64");
  const Nb nb(vdev);
  std::vector<rte_pmd_enso_pipe*> pipes;
  for (int i = 0; i < 4; ++i) pipes.push_back(nb.Open(RTE_PMD_ENSO_RX, RTE_PMD_ENSO_FALLBACK));
  ASSERT_EQ(rte_eth_dev_set_link_up(vdev.port()), 0);
  const auto receive_some = [&] {
    uint64_t bytes = 0;
    return Eventually([&] {
      nb.Poll([&](const rte_pmd_enso_span& span) {
        bytes += span.bytes;
        rte_pmd_enso_release(span.pipe, span.bytes);
      });
      return bytes > 1'000'000;
    });
  };
  ASSERT_TRUE(receive_some());
  for (const size_t victim : {2u, 0u, 3u}) {
    rte_pmd_enso_pipe_close(pipes[victim]);
    if (victim == 2) {
      EXPECT_TRUE(receive_some()) << "pipes 0 and 1 go on";
    }
  }
  // The new pipe gets the free index 0, so that pipes 0 and 1 form a set of two again.
  nb.Open(RTE_PMD_ENSO_RX, RTE_PMD_ENSO_FALLBACK);
  EXPECT_TRUE(receive_some());
  EXPECT_EQ(vdev.Xstat("model_wedged"), 0u);
  EXPECT_EQ(vdev.Xstat("model_dma_faults"), 0u);
  EXPECT_EQ(vdev.Xstat("nb_bad_notifications"), 0u);
}

TEST(Native, FacesShareOneFallbackSet) {
  Vdev vdev("wire=loopback");
  const Pool pool(1024);
  {
    const Nb nb(vdev);
    nb.Open(RTE_PMD_ENSO_RX, RTE_PMD_ENSO_FALLBACK);
    rte_eth_conf conf{};
    ASSERT_EQ(rte_eth_dev_configure(vdev.port(), 1, 1, &conf), 0);
    ASSERT_EQ(rte_eth_rx_queue_setup(vdev.port(), 0, 512, SOCKET_ID_ANY, nullptr, pool.get()), 0);
    ASSERT_EQ(rte_eth_tx_queue_setup(vdev.port(), 0, 512, SOCKET_ID_ANY, nullptr), 0);
    EXPECT_EQ(rte_eth_dev_start(vdev.port()), -EBUSY);
  }
  ASSERT_EQ(rte_eth_dev_start(vdev.port()), 0);
  const Nb nb(vdev);
  rte_pmd_enso_pipe* pipe = nullptr;
  EXPECT_EQ(rte_pmd_enso_pipe_open(nb.get(), RTE_PMD_ENSO_RX, RTE_PMD_ENSO_FALLBACK, &pipe),
            -EBUSY);
  EXPECT_EQ(rte_pmd_enso_pipe_open(nb.get(), RTE_PMD_ENSO_RX, 0, &pipe), 0) << "others may open";
}

TEST(Native, ImpossibleRequestsAreRefused) {
  const Vdev vdev("wire=loopback");
  const Nb nb(vdev);
  rte_pmd_enso_pipe* pipe = nullptr;
  EXPECT_EQ(rte_pmd_enso_pipe_open(nb.get(), RTE_PMD_ENSO_TX, RTE_PMD_ENSO_FALLBACK, &pipe),
            -EINVAL);
  EXPECT_EQ(rte_pmd_enso_pipe_open(nb.get(), RTE_PMD_ENSO_RX, 1u << 5, &pipe), -EINVAL);
  EXPECT_EQ(rte_pmd_enso_set_timestamp(vdev.port(), true, 61), -EINVAL);
  EXPECT_EQ(rte_pmd_enso_set_timestamp(vdev.port(), true, 60), 0);
  EXPECT_EQ(rte_pmd_enso_set_timestamp(vdev.port(), false, 18), 0);
  EXPECT_EQ(rte_pmd_enso_set_rate_limit(vdev.port(), true, 0, 10), -EINVAL)
      << "a numerator of 0 blocks transmission for ever";
  EXPECT_EQ(rte_pmd_enso_set_rate_limit(vdev.port(), true, 1, 10), 0);
  EXPECT_EQ(rte_pmd_enso_set_rate_limit(vdev.port(), false, 1, 1), 0);
  EXPECT_EQ(rte_pmd_enso_set_round_robin(vdev.port(), true), 0);
}

/// A reopened notification buffer starts its TX ring at the NIC's current tail, not at 0.
TEST(Native, BuffersReopenTenTimesAndStillCompleteTheirSends) {
  const Vdev vdev("wire=loopback");
  ASSERT_EQ(rte_eth_dev_set_link_up(vdev.port()), 0);
  for (uint32_t round = 0; round < 10; ++round) {
    const Nb nb(vdev);
    rte_pmd_enso_pipe* tx = nb.Open(RTE_PMD_ENSO_TX);
    nb.Open(RTE_PMD_ENSO_RX, RTE_PMD_ENSO_FALLBACK);
    for (uint32_t i = 0; i < 5 + round; ++i) SendFrames(nb.get(), tx, {Ipv4Frame({.seed = i})});
    uint32_t bytes = 0;
    EXPECT_TRUE(Eventually([&] {
      nb.Poll([&](const rte_pmd_enso_span& span) {
        bytes += span.bytes;
        rte_pmd_enso_release(span.pipe, span.bytes);
      });
      return bytes == (5 + round) * 64 && rte_pmd_enso_tx_pending(nb.get()) == 0;
    })) << "round "
        << round;
  }
  EXPECT_EQ(vdev.Xstat("nb_bad_completions"), 0u);
  EXPECT_EQ(vdev.Xstat("device_stuck_rings"), 0u);
}

}  // namespace
}  // namespace sluice::net_enso
