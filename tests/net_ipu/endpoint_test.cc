// SPDX-License-Identifier: BSD-3-Clause
//
// Tests cache-line endpoints through rte_pmd_ipu.h, on ports that ethdev never configured: opening,
// traffic, steering, frames sent by the host, and closing. The model runs in a separate thread.
#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "endpoint_fixture.h"

namespace sluice::net_ipu::test {
namespace {

int OpenError(uint16_t port, uint16_t queue, const rte_pmd_ipu_endpoint_conf& conf = {}) {
  rte_pmd_ipu_endpoint* endpoint = nullptr;
  const int error = rte_pmd_ipu_endpoint_open(port, queue, &conf, &endpoint);
  rte_pmd_ipu_endpoint_close(endpoint);
  return error;
}

TEST(EndpointOpen, WhatCannotBeIsRefused) {
  LinkPort port("queues=2");
  EXPECT_EQ(OpenError(RTE_MAX_ETHPORTS, 0), -ENOTSUP);
  EXPECT_EQ(OpenError(port.id, 2), -EINVAL) << "the port has two";
  EXPECT_EQ(OpenError(port.id, 0, {.overflow_lines = 76, .headroom_bytes = 0}), 0)
      << "104 + 76 * 128 bytes hold the longest frame and the head of its record";
  EXPECT_EQ(OpenError(port.id, 0, {.overflow_lines = 76, .headroom_bytes = 128}), -EINVAL);
  EXPECT_EQ(OpenError(port.id, 0, {.overflow_lines = 75, .headroom_bytes = 0}), -EINVAL);
  EXPECT_EQ(OpenError(port.id, 0, {.overflow_lines = 1025, .headroom_bytes = 0}), -EINVAL);
  EXPECT_EQ(OpenError(port.id, 0, {.overflow_lines = 80, .headroom_bytes = 32}), -EINVAL);
  EXPECT_EQ(OpenError(port.id, 0, {.overflow_lines = 80, .headroom_bytes = 320}), -EINVAL);
  EXPECT_EQ(OpenError(port.id, 0, {.overflow_lines = 80, .headroom_bytes = 256}), 0);
  Endpoint endpoint(port.id, 0);
  EXPECT_EQ(OpenError(port.id, 0), -EBUSY) << "open already";
  rte_pmd_ipu_link* link = nullptr;
  EXPECT_EQ(rte_pmd_ipu_link_open(port.id, 0, nullptr, &link), -EBUSY) << "an endpoint is there";
  ASSERT_EQ(rte_pmd_ipu_link_open(port.id, 1, nullptr, &link), 0);
  EXPECT_EQ(OpenError(port.id, 1), -EBUSY) << "a link is there";
  rte_pmd_ipu_link_close(link);
}

TEST(EndpointTraffic, EveryFrameGoesBackToTheWireWholeAndInOrder) {
  LinkPort port("wire=gen:size=64/128/594/1518/9018+flows=64+count=20000,verify=full");
  Endpoints endpoints = OpenEndpoints(port.id, 1);
  port.Up();
  EXPECT_TRUE(Within10s([&] {
    endpoints[0]->Echo();
    return Received(endpoints) == 20000;
  }));
  port.Down();
  const rte_pmd_ipu_endpoint_stats lines = endpoints[0]->Stats();
  EXPECT_GT(lines.requests, 0u);
  EXPECT_EQ(lines.resets + lines.faults, 0u);
  endpoints.clear();  // Waits until all frames have been sent.
  const auto stats = port.Xstats();
  EXPECT_EQ(stats.at("wire_returned"), 20000u);
  EXPECT_EQ(stats.at("line_requests"), stats.at("model_line_answers"));
  for (const char* name : {"wire_lost", "wire_corrupted", "wire_duplicated", "wire_reordered",
                           "model_rx_no_line", "model_line_bad_records", "model_line_orphans",
                           "model_line_rx_discards", "model_line_tx_discards", "model_line_faults",
                           "line_faults_host", "line_rx_stop_discards", "line_tx_stop_discards"}) {
    EXPECT_EQ(stats.at(name), 0u) << name;
  }
  rte_eth_stats totals;
  rte_eth_stats_get(port.id, &totals);
  EXPECT_EQ(totals.ipackets, 20000u);
  EXPECT_EQ(totals.opackets, 20000u);
  EXPECT_EQ(totals.imissed + totals.ierrors + totals.oerrors, 0u);
}

TEST(EndpointTraffic, RssKeepsEachFlowAtOneEndpointAndUsesAll) {
  LinkPort port("wire=gen:size=64+flows=1000+count=20000,verify=full");
  Endpoints endpoints = OpenEndpoints(port.id, 4);
  port.Up();
  std::map<std::array<uint8_t, 12>, const Endpoint*> endpoint_of;
  EXPECT_TRUE(Within10s([&] {
    for (const auto& endpoint : endpoints) {
      endpoint->Echo([&](const uint8_t* frame, uint32_t) {
        std::array<uint8_t, 12> tuple;
        // Copies the IPv4 addresses and the UDP ports.
        std::memcpy(tuple.data(), frame + 26, tuple.size());
        EXPECT_EQ(endpoint_of.emplace(tuple, endpoint.get()).first->second, endpoint.get());
      });
    }
    return Received(endpoints) == 20000;
  }));
  for (const auto& endpoint : endpoints) EXPECT_GT(endpoint->received, 20000u / 8);
}

TEST(EndpointTraffic, WhatIsSentToALoopbackComesBackWithItsHeadroom) {
  LinkPort port("wire=loopback");
  Endpoint endpoint(port.id, 0, {.overflow_lines = 0, .headroom_bytes = 128});
  port.Up();
  constexpr uint32_t kFrames = 300;
  uint32_t sent = 0, back = 0;
  EXPECT_TRUE(Within10s([&] {
    if (sent < kFrames) {
      if (uint8_t* const to = rte_pmd_ipu_endpoint_room(endpoint.handle, 60 + sent)) {
        std::memset(to, static_cast<int>(sent), 60 + sent);
        rte_pmd_ipu_endpoint_send(endpoint.handle, 60 + sent++);
      }
      rte_pmd_ipu_endpoint_flush(endpoint.handle);
    }
    const uint32_t count = rte_pmd_ipu_endpoint_wait(endpoint.handle, endpoint.frames);
    for (uint32_t i = 0; i < count; ++i, ++back) {
      rte_pmd_ipu_line_frame& frame = endpoint.frames[i];
      EXPECT_EQ(frame.length, 60 + back);
      EXPECT_EQ(std::count(frame.data, frame.data + frame.length, static_cast<uint8_t>(back)),
                frame.length);
      EXPECT_EQ(frame.headroom, 128u);
      frame.length = 0;
    }
    if (count > 0) rte_pmd_ipu_endpoint_answer(endpoint.handle, endpoint.frames, count);
    return back == kFrames;
  }));
  EXPECT_GT(endpoint.Stats().grants, 0u);
}

TEST(EndpointClose, FramesThatNobodyLookedAtAreCounted) {
  LinkPort port("wire=gen:size=64+count=500");
  {
    Endpoint endpoint(port.id, 0);
    port.Up();
    // Loads a line but never answers the received frames.
    rte_pmd_ipu_endpoint_wait(endpoint.handle, endpoint.frames);
    EXPECT_TRUE(Eventually([&] { return port.Xstats().at("model_rx_frames") > 0; }));
    port.Down();
  }
  const auto stats = port.Xstats();
  EXPECT_GT(stats.at("model_rx_frames"), 0u);
  EXPECT_EQ(stats.at("line_rx_stop_discards") + stats.at("model_line_rx_discards"),
            stats.at("model_rx_frames"));
  EXPECT_EQ(stats.at("line_tx_stop_discards") + stats.at("model_line_tx_discards"), 0u);
  EXPECT_EQ(OpenError(port.id, 0), 0) << "again";
}

}  // namespace
}  // namespace sluice::net_ipu::test
