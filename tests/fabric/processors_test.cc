// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a host whose processors share one window, and the NIC's mapping of host memory.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "model.h"

namespace sluice::fabric {
namespace {

TEST(FabricProcessors, EachHasAClockOfItsOwn) {
  Model model(With(HostStores::kWholeLine, NicLines::kPushed));
  HostEnd& second = model.pair.AddHost();
  ASSERT_EQ(model.pair.hosts(), 2u);
  model.host.Compute(1_us);
  second.Post(1, Numbered(1));
  EXPECT_EQ(model.host.now(), 1_us);
  EXPECT_EQ(second.now(), 80_ns);
}

TEST(FabricProcessors, AnInterruptGoesToTheProcessorOfItsVector) {
  Model model(With(HostStores::kWholeLine, NicLines::kPushed));
  std::vector<std::pair<int, uint32_t>> seen;
  HostEnd& second = model.pair.AddHost();
  model.host.OnInterrupt([&](uint32_t vector) { seen.emplace_back(0, vector); });
  second.OnInterrupt([&](uint32_t vector) {
    seen.emplace_back(1, vector);
    EXPECT_EQ(second.now(), 1600_ns);
  });
  model.nic.Interrupt(1);
  model.nic.Interrupt(0);
  model.nic.Interrupt(7);  // No processor owns this line.
  model.queue.Run();
  EXPECT_EQ(seen, (std::vector<std::pair<int, uint32_t>>{{1, 1}, {0, 0}, {0, 7}}));
}

TEST(FabricProcessors, APushedLineWakesTheProcessorThatItIsFor) {
  Model model(With(HostStores::kWholeLine, NicLines::kPushed));
  std::vector<int> woken;
  model.host.OnArrival([&] { woken.push_back(0); });
  model.pair.AddHost().OnArrival([&] { woken.push_back(1); });
  model.pair.AssignLine(2, 1);
  model.nic.Post(2, Numbered(1));
  model.nic.Post(3, Numbered(2));
  model.queue.Run();
  EXPECT_EQ(woken, (std::vector<int>{1, 0}));
}

// Each processor caches the WT lines that it reads; snoops do not cross the link.
TEST(FabricProcessors, CachesOfWriteThroughLinesAreEachTheirOwn) {
  Model model(With(HostStores::kWriteCombining, NicLines::kWriteThrough));
  HostEnd& second = model.pair.AddHost();
  EXPECT_EQ(model.host.Peek(1), 0u);
  model.nic.Post(1, Numbered(1));
  model.queue.Run();
  EXPECT_EQ(model.host.Peek(1), 0u) << "stale";
  EXPECT_EQ(second.Peek(1), 1000u);
  second.Flush();
  EXPECT_EQ(model.host.Peek(1), 0u) << "flushed by the other one";
  model.host.Flush();
  EXPECT_EQ(model.host.Peek(1), 1000u);
}

TEST(FabricProcessors, BuffersOfWriteCombiningAreEachTheirOwn) {
  Model model(With(HostStores::kWriteCombining, NicLines::kWriteThrough));
  HostEnd& second = model.pair.AddHost();
  model.host.StoreWords(1, Numbered(1), 0x0f);
  second.Flush();
  model.queue.Run();
  EXPECT_EQ(model.nic.ReadUncached(1, 3), 0u);
  model.host.Flush();
  model.queue.Run();
  EXPECT_EQ(model.nic.ReadUncached(1, 3), 1003u);
}

TEST(FabricProcessors, ADeadLinkIsDeadForEach) {
  Model model(With(HostStores::kWholeLine, NicLines::kPushed));
  HostEnd& second = model.pair.AddHost();
  model.pair.SetLinkUp(false);
  EXPECT_EQ(second.ReadUncached(0, 0), ~uint64_t{0});
  EXPECT_EQ(second.Peek(0), ~uint64_t{0});
  model.pair.SetLinkUp(true);
  EXPECT_EQ(second.Peek(0), 0u);
}

TEST(FabricNic, ItsOwnMemoryUncachedCostsAnAccessForEveryEightBytes) {
  WindowParameters parameters = With(HostStores::kUncached, NicLines::kUncached);
  const auto times = [](const WindowParameters& with) {
    Model model(with);
    std::vector<Picoseconds> spent;
    const auto took = [&](auto&& operation) {
      const Picoseconds before = model.nic.now();
      operation();
      spent.push_back(model.nic.now() - before);
    };
    Line line;
    took([&] { model.nic.Peek(0); });
    took([&] { model.nic.Poll(0, line); });
    took([&] { model.nic.Post(0, line); });
    return spent;
  };
  EXPECT_EQ(times(parameters), (std::vector<Picoseconds>{30_ns, 30_ns, 30_ns}));
  parameters.nic_mapping = NicMapping::kUncached;
  EXPECT_EQ(times(parameters), (std::vector<Picoseconds>{100_ns, 800_ns, 800_ns}));
  // A line that is pushed across the link is not counted as an access.
  parameters.host_stores = HostStores::kWholeLine;
  parameters.nic_lines = NicLines::kPushed;
  EXPECT_EQ(times(parameters), (std::vector<Picoseconds>{100_ns, 800_ns, 80_ns}));
}

}  // namespace
}  // namespace sluice::fabric
