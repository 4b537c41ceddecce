// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a link in virtual time that goes down or runs out of credits, and checks that a given seed
// always yields the same trace.
#include <gtest/gtest.h>

#include <vector>

#include "bar/window_trace.h"
#include "model.h"

namespace sluice::fabric {
namespace {

// --- The dead link.

TEST(FabricWindow, AReadThatIsLostReturnsAllOnesAfterTheTimeout) {
  for (const auto lines : {NicLines::kPushed, NicLines::kUncached, NicLines::kWriteThrough}) {
    Model model(With(HostStores::kWholeLine, lines));
    model.nic.Post(0, Numbered(1));
    model.queue.Run();
    model.pair.SetLinkUp(false);
    const Picoseconds start = model.host.now();
    EXPECT_EQ(model.host.ReadUncached(0, 0), ~uint64_t{0});
    EXPECT_EQ(model.host.now(), start + 50_us);
    EXPECT_EQ(model.host.Peek(0), ~uint64_t{0});
    Line seen;
    EXPECT_FALSE(model.host.Poll(0, seen));
    EXPECT_EQ(model.host.now(), start + 50_us) << "a dead link is asked once";
    model.pair.SetLinkUp(true);
    EXPECT_EQ(model.host.Peek(0), 1000u);
  }
}

TEST(FabricWindow, WhatIsUnderWayWhenTheLinkGoesDownIsLost) {
  Model model;
  model.host.Post(0, Numbered(1));
  model.queue.At(200_ns, [&] { model.pair.SetLinkUp(false); });
  model.queue.At(300_ns, [&] { model.pair.SetLinkUp(true); });
  model.queue.Run();
  EXPECT_EQ(model.nic.Peek(0), 0u);
  model.host.Post(0, Numbered(1));
  model.queue.Run();
  EXPECT_EQ(model.nic.Peek(0), 1000u);
}

TEST(FabricWindow, AReadUnderWayIsLostToo) {
  Model model(With(HostStores::kWholeLine, NicLines::kUncached));
  model.queue.At(500_ns, [&] { model.pair.SetLinkUp(false); });
  EXPECT_EQ(model.host.Peek(0), ~uint64_t{0});
  EXPECT_EQ(model.host.now(), 50_us);
}

// --- Credits.

TEST(FabricWindow, WithoutCreditsTheProcessorStalls) {
  WindowParameters parameters = With(HostStores::kWholeLine, NicLines::kPushed);
  parameters.link.posted_headers = 2;
  Model model(parameters);
  std::vector<Picoseconds> arrivals;
  model.nic.OnArrival([&] { arrivals.push_back(model.nic.now()); });
  for (uint64_t n = 0; n < 6; ++n) model.host.Post(0, Numbered(n));
  model.queue.Run();
  // Two lines pass per round trip.
  const std::vector<Picoseconds> expected = {379_ns,          459_ns,           379_ns + 758_ns,
                                             459_ns + 758_ns, 379_ns + 1516_ns, 459_ns + 1516_ns};
  EXPECT_EQ(arrivals, expected);
  EXPECT_GE(model.host.now(), 80_ns + 1516_ns);
  EXPECT_GT(model.pair.down().credit_stall(), 0u);
}

// --- Determinism.

std::vector<bar::WindowEvent> Trace(uint64_t seed) {
  WindowParameters parameters = With(HostStores::kWriteCombining, NicLines::kWriteThrough);
  parameters.early_evictions_permille = 300;
  parameters.seed = seed;
  Model model(parameters);
  std::vector<bar::WindowEvent> events(4096);
  bar::WindowTrace trace(events);
  bar::TracedWindow host(model.host, trace, bar::WindowSide::kHost);
  bar::TracedWindow nic(model.nic, trace, bar::WindowSide::kNic);
  model.nic.OnArrival([&] {
    Line line;
    if (nic.Poll(0, line)) nic.Post(0, line);
  });
  for (uint64_t n = 1; n <= 50; ++n) {
    host.Post(0, Numbered(n));
    do host.Flush();
    while (host.Peek(0) != n * 1000);
  }
  events.resize(trace.size());
  return events;
}

TEST(FabricWindow, OneSeedOneTrace) {
  const auto first = Trace(1);
  EXPECT_GT(first.size(), 150u);
  EXPECT_EQ(first, Trace(1));
  EXPECT_NE(first, Trace(2));
}

}  // namespace
}  // namespace sluice::fabric
