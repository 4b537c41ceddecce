// SPDX-License-Identifier: BSD-3-Clause
//
// Tests an echo on each NIC interface in virtual time. The expected latency of a single frame is
// computed from the costs. The expected rates at full line rate are computed from the capacities of
// the link and the worker.
#include "simulation/echo/echo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "bar/tlp.h"

namespace sluice::simulation {
namespace {

using namespace fabric::literals;  // NOLINT
using enum NicInterface;

constexpr fabric::Picoseconds kWireFrame = 6720_ps;  // 84 bytes at 100 Gb/s.

EchoParameters Parameters(NicInterface interface, double load, uint32_t frames) {
  EchoParameters parameters;
  parameters.interface = interface;
  parameters.load = load;
  parameters.frames = frames;
  parameters.costs.pcie_oneway = 379_ns;
  parameters.costs.host_cached_line = 40_ns;
  parameters.costs.mmio_write_uncached = 50_ns;
  parameters.packet_time = 15_ns;
  parameters.line_time = 5_ns;
  return parameters;
}

double LinkBits() { return static_cast<double>(bar::TlpRate(3, 16, 256)); }

/// Returns the time for which `bytes` bytes occupy the link.
fabric::Picoseconds OnLink(double bytes) {
  return static_cast<fabric::Picoseconds>(bytes * 8 * 1e12 / LinkBits()) + 1;
}

// Leaves a gap of 6.7 us, so that the NIC and the worker process only one frame at a time.
constexpr double kAlone = 0.001;

TEST(Echo, AFrameAloneOnAPipeTakesSixWaysAndWhatTheWorkerDoes) {
  // The data (64 + 24 bytes) and a notification cross the link upstream. The worker reads, stores
  // to free the slot, processes the frame and stores to send it. The last store crosses the link
  // downstream. The NIC reads the descriptor and the data; each read crosses the link upstream and
  // downstream. Then, the frame occupies the wire.
  const fabric::Picoseconds expected =
      OnLink(88) + 6 * 379_ns + 40_ns + 50_ns + 5_ns + 50_ns + kWireFrame;
  for (const auto& [interface, more] :
       {std::pair(kReactive, 0_ns),
        {kNotifyPacket, 0_ns},
        {kPrefetch, 50_ns}}) {  // The worker also stores the head of the next pipe.
    const EchoResults results = PlayEcho(Parameters(interface, kAlone, 60));
    ASSERT_EQ(results.latencies.size(), 30u);
    EXPECT_EQ(results.latencies.front(), expected + more) << NameOf(interface);
    EXPECT_EQ(results.latencies.back(), expected + more) << NameOf(interface);
    EXPECT_EQ(results.dropped, 0u);
  }
}

TEST(Echo, APacketAloneTakesSixWaysAndWhatTheWorkerDoes) {
  // 60 + 24 bytes and the descriptor cross the link upstream. The worker reads, processes the
  // packet and rings the doorbell. The NIC reads the descriptor and the data. A request for new
  // descriptors (24 bytes) precedes every eighth packet.
  const fabric::Picoseconds expected = OnLink(84) + 6 * 379_ns + 40_ns + 15_ns + 50_ns + kWireFrame;
  const EchoResults results = PlayEcho(Parameters(kPacketized, kAlone, 60));
  ASSERT_EQ(results.latencies.size(), 30u);
  EXPECT_EQ(results.Percentile(0.5), expected);
  EXPECT_NEAR(static_cast<double>(results.latencies.back()),
              static_cast<double>(expected + OnLink(24)), 2);
}

TEST(Echo, ByPipesOneWorkerEchoesAFullWire) {
  for (const NicInterface interface : {kReactive, kPrefetch}) {
    const EchoResults results = PlayEcho(Parameters(interface, 1, 120'000));
    EXPECT_EQ(results.dropped, 0u);
    EXPECT_EQ(results.latencies.size(), 60'000u);
    EXPECT_NEAR(results.frames_per_second, 1e12 / kWireFrame, 3e6) << NameOf(interface);
  }
}

TEST(Echo, WithANotificationForEachFrameTheLinkIsTheLimit) {
  // Each frame causes 88 bytes of data and 88 bytes of notification upstream, in addition to
  // requests and reports.
  const EchoResults results = PlayEcho(Parameters(kNotifyPacket, 1, 30'000));
  const double most = LinkBits() / 8 / (88 + 88);
  EXPECT_LE(results.frames_per_second, most);
  EXPECT_GE(results.frames_per_second, 0.93 * most);
  EXPECT_GT(results.dropped, 0u);
}

TEST(Echo, PacketizedOneWorkerIsTheLimitAndTwoAreNot) {
  // A burst of 64 packets needs one read, the processing of 64 packets, and two doorbells.
  const EchoResults one = PlayEcho(Parameters(kPacketized, 1, 120'000));
  const double burst_ns = 40 + 64 * 15 + 2 * 50;
  EXPECT_NEAR(one.frames_per_second, 64e9 / burst_ns, 0.005 * 64e9 / burst_ns);
  EXPECT_EQ(one.worker_time / 100, static_cast<fabric::Picoseconds>(burst_ns * 1000 / 64) / 100);

  EchoParameters both = Parameters(kPacketized, 1, 120'000);
  both.workers = 2;
  // Each frame causes 84 and 56 bytes upstream, in addition to requests.
  EXPECT_LE(PlayEcho(both).frames_per_second, LinkBits() / 8 / (84 + 56));
  EXPECT_GE(PlayEcho(both).frames_per_second, 1.3 * one.frames_per_second);
}

TEST(Echo, EveryMeasuredFrameOfASustainedLoadLeaves) {
  for (const NicInterface interface : kNicInterfaces) {
    for (const double load : {0.01, 0.3}) {
      EchoParameters parameters = Parameters(interface, load, 3'000);
      parameters.workers = 3;
      parameters.pipes = 5;
      const EchoResults results = PlayEcho(parameters);
      EXPECT_EQ(results.latencies.size(), 1'500u) << NameOf(interface);
      EXPECT_EQ(results.dropped, 0u);
      EXPECT_TRUE(std::ranges::is_sorted(results.latencies));
    }
  }
}

TEST(Echo, APercentileIsTheNearestRank) {
  const EchoResults results{.latencies = {10, 20, 30, 40}};
  EXPECT_EQ(results.Percentile(0.5), 20u);
  EXPECT_EQ(results.Percentile(0.51), 30u);
  EXPECT_EQ(results.Percentile(0.99), 40u);
  EXPECT_EQ(EchoResults{}.Percentile(0.5), 0u);
}

}  // namespace
}  // namespace sluice::simulation
