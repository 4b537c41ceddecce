// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the behavior of a window over PCIe in virtual time: order, tearing, stale caches and lost
// wake-ups.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "model.h"

namespace sluice::fabric {
namespace {

TEST(FabricWindow, EveryKindCarriesLinesBothWays) {
  for (const auto stores :
       {HostStores::kWholeLine, HostStores::kWriteCombining, HostStores::kUncached}) {
    for (const auto lines : {NicLines::kPushed, NicLines::kUncached, NicLines::kWriteThrough}) {
      Model model(With(stores, lines));
      model.host.Post(2, Numbered(1));
      model.nic.Post(3, Numbered(2));
      model.queue.Run();
      Line seen;
      ASSERT_TRUE(model.nic.Poll(2, seen));
      EXPECT_EQ(seen, Numbered(1));
      EXPECT_EQ(model.nic.Peek(2), 1000u);
      ASSERT_TRUE(model.host.Poll(3, seen));
      EXPECT_EQ(seen, Numbered(2));
      EXPECT_EQ(model.host.Peek(3), 2000u);
      EXPECT_EQ(model.host.ReadUncached(3, 4), 2004u);
      EXPECT_TRUE(model.host.Poll(0, seen)) << "a line that was never posted";
      EXPECT_EQ(seen, Line{});
      EXPECT_NE(model.host.capabilities() & bar::kWindowModelled, 0u);
      // The bytes of both ends add up to all bytes on the link.
      bar::LinkBytes both = model.host.link_bytes();
      both += model.nic.link_bytes();
      EXPECT_EQ(both, model.pair.link_bytes());
    }
  }
}

TEST(FabricWindow, CapabilitiesSayWhatItDoes) {
  using namespace bar;
  const auto host = [](HostStores stores, NicLines lines) {
    return Model(With(stores, lines)).host.capabilities();
  };
  EXPECT_EQ(
      host(HostStores::kWholeLine, NicLines::kPushed),
      uint32_t{kWindowModelled | kWindowWriteCombining | kWindowNicStoresHost | kWindowLineAtomic});
  EXPECT_EQ(host(HostStores::kWriteCombining, NicLines::kWriteThrough),
            uint32_t{kWindowModelled | kWindowWriteCombining | kWindowWriteThrough});
  EXPECT_EQ(host(HostStores::kUncached, NicLines::kUncached), uint32_t{kWindowModelled});
  EXPECT_EQ(Model().nic.capabilities() & ~Model().host.capabilities(), uint32_t{kWindowInterrupt});
}

// --- Time.

TEST(FabricWindow, OccupancyAndVisibilityAreDifferentClocks) {
  Model model;
  std::vector<Picoseconds> seen;
  model.nic.OnArrival([&] { seen.push_back(model.nic.now()); });
  model.host.Post(0, Numbered(1));
  EXPECT_EQ(model.host.now(), 80_ns);
  model.queue.Run();
  EXPECT_EQ(seen, std::vector<Picoseconds>{379_ns});
}

TEST(FabricWindow, UncachedStoresLeaveOneByOneWordZeroLast) {
  Model model(With(HostStores::kUncached, NicLines::kPushed));
  std::vector<Picoseconds> arrivals;
  model.nic.OnArrival([&] {
    arrivals.push_back(model.nic.now());
    Line line;
    const bool whole = model.nic.Poll(0, line) && line != Line{};
    EXPECT_EQ(whole, arrivals.size() == 8) << arrivals.size();
  });
  model.host.Post(0, Numbered(1));
  EXPECT_EQ(model.host.now(), 400_ns);
  model.queue.Run();
  ASSERT_EQ(arrivals.size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(arrivals[i], 379_ns + i * 50_ns);
  EXPECT_EQ(model.host.link_bytes(), (bar::LinkBytes{8 * 32, 0}));
}

TEST(FabricWindow, AReadOfTheBarTakes750Flat) {
  Model model(With(HostStores::kWholeLine, NicLines::kUncached));
  model.host.Peek(0);
  EXPECT_EQ(model.host.now(), 750_ns);
  EXPECT_EQ(model.host.link_bytes(), (bar::LinkBytes{24, 28}));
  Line line;
  model.host.Poll(0, line);  // Eight reads.
  EXPECT_EQ(model.host.now(), 9 * 750_ns);
}

TEST(FabricWindow, OrItsTwoWaysAndTheServiceOfTheDevice) {
  WindowParameters parameters = With(HostStores::kWholeLine, NicLines::kUncached);
  parameters.read_time = ReadTime::kComposed;
  Model plain(parameters);
  plain.host.Peek(0);
  EXPECT_EQ(plain.host.now(), 758_ns);
  parameters.costs.device_read_service = 42_ns;
  Model serviced(parameters);
  serviced.host.Peek(0);
  EXPECT_EQ(serviced.host.now(), 800_ns);
}

TEST(FabricWindow, MsixTakes1600AndStaysBehindWhatWasPosted) {
  Model model;
  EXPECT_EQ(model.pair.parameters().costs.MsixEndToEnd(), 1600_ns);
  std::optional<Picoseconds> woken;
  model.host.OnInterrupt([&](uint32_t vector) {
    woken = model.host.now();
    EXPECT_EQ(vector, 3u);
    EXPECT_EQ(model.host.Peek(0), 1000u);
  });
  model.nic.Post(0, Numbered(1));
  const Picoseconds sent = model.nic.now();
  model.nic.Interrupt(3);
  model.queue.Run();
  EXPECT_EQ(woken, sent + 1600_ns);
  EXPECT_EQ(model.nic.link_bytes(), (bar::LinkBytes{0, 88 + 28}));
}

// The completion of a read pushes the device's earlier posted writes ahead of it.
TEST(FabricWindow, AReadBringsWhatTheNicPostedBefore) {
  Model model;
  model.nic.Compute(379_ns);
  model.nic.Post(0, Numbered(1));  // The NIC posts this when the read request arrives.
  EXPECT_EQ(model.host.ReadUncached(0, 0), 1000u);
}

TEST(FabricWindow, CodeThatSpinsLetsTimePass) {
  Model model;
  model.nic.OnArrival([&] {
    Line line;
    ASSERT_TRUE(model.nic.Poll(0, line));
    model.nic.Post(0, line);
  });
  model.host.Post(0, Numbered(1));
  while (model.host.Peek(0) != 1000) {
  }
  // The answer arrives after a round trip of 758 ns and a read by the NIC, which takes 30 ns. The
  // host observes the answer at the end of a read that takes 40 ns.
  EXPECT_GE(model.host.now(), 788_ns);
  EXPECT_LE(model.host.now(), 788_ns + 40_ns);
}

// --- Write combining.

TEST(FabricWindow, AFullBufferLeavesAsOneWrite) {
  Model model(With(HostStores::kWriteCombining, NicLines::kPushed));
  model.host.StoreWords(0, Numbered(1), 0x0f);
  model.queue.Run();
  EXPECT_EQ(model.pair.down().tlps(), 0u) << "half a line waits";
  model.host.StoreWords(0, Numbered(1), 0xf0);
  model.queue.Run();
  EXPECT_EQ(model.pair.down().tlps(), 1u);
  EXPECT_EQ(model.pair.link_bytes(), (bar::LinkBytes{88, 0}));
}

/// Returns the order in which the words of a flushed partial line arrive.
std::vector<uint32_t> ArrivalOrder(uint64_t seed) {
  WindowParameters parameters = With(HostStores::kWriteCombining, NicLines::kPushed);
  parameters.seed = seed;
  parameters.costs.nic_memory = 0;  // Makes every single arrival observable.
  Model model(parameters);
  const Line line = Numbered(1);
  std::vector<uint32_t> order;
  model.nic.OnArrival([&] {
    for (uint32_t word = 0; word < 8; ++word) {
      const bool there = model.nic.ReadUncached(0, word) == line.word[word];
      if (there && std::find(order.begin(), order.end(), word) == order.end())
        order.push_back(word);
    }
  });
  model.host.StoreWords(0, line, 0x7f);
  model.host.Flush();
  model.queue.Run();
  EXPECT_EQ(model.pair.link_bytes(), (bar::LinkBytes{7 * 32, 0}));
  return order;
}

TEST(FabricWindow, APartOfABufferLeavesInAnyOrder) {
  std::vector<std::vector<uint32_t>> orders;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    orders.push_back(ArrivalOrder(seed));
    EXPECT_EQ(orders.back().size(), 7u);
    EXPECT_EQ(orders.back(), ArrivalOrder(seed)) << "the seed decides alone";
  }
  EXPECT_FALSE(orders[0] == orders[1] && orders[1] == orders[2] && orders[2] == orders[3]);
}

TEST(FabricWindow, TornLinesAreRejectedAndTheWholeOneArrives) {
  WindowParameters parameters = With(HostStores::kWriteCombining, NicLines::kPushed);
  parameters.early_evictions_permille = 1000;
  parameters.costs.nic_cached_line = 0;  // Makes every single arrival observable.
  Model model(parameters);
  uint32_t rejected = 0, whole = 0;
  Line seen;
  model.nic.OnArrival([&] { ++(model.nic.Poll(0, seen) ? whole : rejected); });
  for (uint64_t n = 1; n <= 10; ++n) {
    model.host.Post(0, Numbered(n));
    model.queue.Run();
    EXPECT_EQ(seen, Numbered(n));
  }
  EXPECT_EQ(whole, 10u);
  EXPECT_EQ(rejected, 70u);
}

// --- Write-through lines.

TEST(FabricWindow, ALineOnceReadStaysStaleUntilFlushed) {
  Model model(With(HostStores::kWholeLine, NicLines::kWriteThrough));
  model.nic.Post(0, Numbered(1));
  model.queue.Run();
  EXPECT_EQ(model.host.Peek(0), 1000u);
  model.nic.Post(0, Numbered(2));
  model.queue.Run();
  const bar::LinkBytes before = model.pair.link_bytes();
  Line seen;
  ASSERT_TRUE(model.host.Poll(0, seen));
  EXPECT_EQ(seen, Numbered(1)) << "the device was not asked";
  EXPECT_EQ(model.pair.link_bytes(), before);
  EXPECT_EQ(model.host.ReadUncached(0, 0), 2000u);
  EXPECT_EQ(model.host.Peek(0), 1000u);
  model.host.Flush();
  EXPECT_EQ(model.host.Peek(0), 2000u);
}

TEST(FabricWindow, APrefetchHidesTheRead) {
  Model model(With(HostStores::kWholeLine, NicLines::kWriteThrough));
  model.nic.Post(0, Numbered(1));
  model.queue.Run();
  const Picoseconds start = model.host.now();
  model.host.Prefetch(0);
  EXPECT_EQ(model.host.now(), start);
  model.host.Compute(3300_ns);
  EXPECT_EQ(model.host.Peek(0), 1000u);
  EXPECT_EQ(model.host.now(), start + 3302_ns);
}

TEST(FabricWindow, APrefetchOnItsWayIsWaitedFor) {
  Model model(With(HostStores::kWholeLine, NicLines::kWriteThrough));
  model.host.Prefetch(0);
  model.host.Compute(100_ns);
  model.host.Peek(0);
  EXPECT_EQ(model.host.now(), 750_ns);
}

TEST(FabricWindow, APrefetchBeforeTheFlushIsForgotten) {
  Model model(With(HostStores::kWholeLine, NicLines::kWriteThrough));
  model.host.Prefetch(0);
  model.host.Flush();
  model.nic.Compute(500_ns);
  model.nic.Post(0, Numbered(1));  // Posted after the prefetch has read the line.
  model.host.Compute(500_ns);
  EXPECT_EQ(model.host.Peek(0), 1000u);
}

/// The host reads, finds nothing, arms the interrupt and sleeps. Meanwhile, the NIC publishes the
/// event, but interrupts the host only if it is armed. Returns whether the host learns of the
/// event.
bool HostLearns(bool flush_and_look_again) {
  Model model(With(HostStores::kWholeLine, NicLines::kWriteThrough));
  const Line armed = Numbered(7);
  bool learned = false;
  model.host.OnInterrupt([&](uint32_t) { learned = true; });
  // The NIC decides between the host's read and the arrival of "armed".
  model.queue.At(600_ns, [&] {
    model.nic.Post(0, Numbered(1));
    if (model.nic.Peek(0) == armed.word[0]) model.nic.Interrupt(0);
  });
  learned = model.host.Peek(0) != 0;  // The read takes 750 ns. The line is empty and is cached.
  model.host.Post(0, armed);
  if (flush_and_look_again) model.host.Flush();
  learned = learned || model.host.Peek(0) != 0;
  model.queue.Run();
  return learned;
}

TEST(FabricWindow, ANegativeLookIsCachedAndLosesTheWakeUp) {
  EXPECT_FALSE(HostLearns(false));
  EXPECT_TRUE(HostLearns(true));
}

}  // namespace
}  // namespace sluice::fabric
