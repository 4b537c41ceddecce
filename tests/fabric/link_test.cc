// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that events run in the order of virtual time and that a link follows the PCIe rules: first
// in, first out, at the link's rate, and with no more posted writes in flight than the receiver's
// credits allow.
#include "fabric/link.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fabric/cpu.h"
#include "fabric/event_queue.h"

namespace sluice::fabric {
namespace {

constexpr Picoseconds kOneway = 379_ns;

TEST(EventQueue, RunsInOrderOfTimeThenOfScheduling) {
  EventQueue queue;
  std::string order;
  queue.At(20_ns, [&] { order += 'c'; });
  queue.At(10_ns, [&] { order += 'a'; });
  queue.At(20_ns, [&] { order += 'd'; });
  queue.At(10_ns, [&] {
    order += 'b';
    queue.At(1_ns, [&] { order += '!'; });  // An event scheduled in the past runs immediately.
  });
  queue.Run();
  EXPECT_EQ(order, "ab!cd");
  EXPECT_EQ(queue.now(), 20_ns);
  EXPECT_EQ(queue.executed(), 5u);
}

TEST(EventQueue, RunUntilStopsAtItsTime) {
  EventQueue queue;
  int ran = 0;
  queue.At(10_ns, [&] { ++ran; });
  queue.At(11_ns, [&] { ++ran; });
  queue.RunUntil(10_ns);
  EXPECT_EQ(ran, 1);
  queue.RunUntil(10'500_ps);
  EXPECT_EQ(queue.now(), 10'500_ps);
  EXPECT_EQ(ran, 1);
}

TEST(Cpu, AnAgentRunsWhenItsProcessorIsFreeAndNeverInsideItself) {
  EventQueue queue;
  Cpu cpu(queue);
  std::vector<Picoseconds> runs;
  cpu.OnArrival([&] {
    runs.push_back(cpu.now());
    cpu.Compute(100_ns);
    if (runs.size() == 1) cpu.Arrived();  // More work arrives while it runs.
  });
  queue.At(10_ns, [&] { cpu.Arrived(); });
  queue.Run();
  EXPECT_EQ(runs, (std::vector<Picoseconds>{10_ns, 110_ns}));
}

TEST(Link, AnIdleDirectionTakesOneWay) {
  LinkDirection link({}, kOneway);
  const Transmission sent = link.Send(5_ns, TlpKind::kPosted, 64, kOneway);
  EXPECT_EQ(sent.start, 5_ns);
  EXPECT_EQ(sent.arrival, 384_ns);
  EXPECT_EQ(link.bytes(), 88u);
}

// 1000 writes of 88 bytes at 227.4 Gb/s are 3.096 ns apart.
TEST(Link, ABusyDirectionServesAtItsRate) {
  LinkDirection link({}, kOneway);
  Transmission sent{};
  for (int i = 0; i < 1000; ++i) sent = link.Send(0, TlpKind::kPosted, 64, kOneway);
  EXPECT_NEAR(ToNanoseconds(sent.start), 999 * 88 * 8 / 227.40, 1.0);
  EXPECT_EQ(sent.arrival, sent.start + kOneway);
  EXPECT_EQ(link.credit_stall(), 0u);
}

TEST(Link, NothingPassesAPostedWrite) {
  LinkDirection link({}, kOneway);
  const Transmission posted = link.Send(0, TlpKind::kPosted, 256, kOneway);
  // Even a completion with a shorter path does not overtake the posted write.
  const Transmission completion = link.Send(0, TlpKind::kCompletion, 8, 300_ns);
  EXPECT_GE(completion.arrival, posted.arrival);
  const Transmission request = link.Send(0, TlpKind::kReadRequest, 0, kOneway);
  EXPECT_GE(request.arrival, completion.arrival);
}

// There are four credits. Each returns 758 ns after its write left, so four lines pass per round
// trip.
TEST(Link, PostedWritesStallWithoutCredits) {
  LinkParameters parameters;
  parameters.posted_headers = 4;
  LinkDirection link(parameters, kOneway);
  std::vector<Transmission> sent;
  for (int i = 0; i < 9; ++i) sent.push_back(link.Send(0, TlpKind::kPosted, 64, kOneway));
  for (int i = 4; i < 9; ++i) EXPECT_EQ(sent[i].start, sent[i - 4].start + 758_ns) << i;
  EXPECT_GT(link.credit_stall(), 2 * 740_ns);
}

TEST(Link, CreditsOfDataCountSixteenBytes) {
  LinkParameters parameters;
  parameters.posted_data = 8;  // Credits for 128 bytes.
  LinkDirection link(parameters, kOneway);
  EXPECT_EQ(link.Send(0, TlpKind::kPosted, 64, kOneway).start, 0u);
  EXPECT_LT(link.Send(0, TlpKind::kPosted, 64, kOneway).start, 10_ns);
  EXPECT_EQ(link.Send(0, TlpKind::kPosted, 1, kOneway).start, 758_ns);
  // A write larger than all credits is sent alone.
  EXPECT_GT(link.Send(0, TlpKind::kPosted, 256, kOneway).start, 2 * 758_ns - 10_ns);
}

// Head-of-line blocking: TLPs queued after a stalled posted write also stall.
TEST(Link, ASlowReceiverHoldsUpReads) {
  LinkParameters parameters;
  parameters.posted_headers = 2;
  parameters.receive_service = 10_us;
  LinkDirection link(parameters, kOneway);
  for (int i = 0; i < 3; ++i) link.Send(0, TlpKind::kPosted, 64, kOneway);
  const Transmission read = link.Send(0, TlpKind::kReadRequest, 0, kOneway);
  EXPECT_GE(read.start, 10_us + 758_ns);
}

// A DMA read of 64 bytes sends 24 bytes, returns 84 bytes, and takes 758 ns.
TEST(Link, ADmaReadIsARoundTrip) {
  LinkDirection up({}, kOneway), down({}, kOneway);
  const Transmission request = up.Send(0, TlpKind::kReadRequest, 0, kOneway);
  const Transmission answer = down.Send(request.arrival, TlpKind::kCompletion, 64, kOneway);
  EXPECT_EQ(answer.arrival, 758_ns);
  EXPECT_EQ(up.bytes(), 24u);
  EXPECT_EQ(down.bytes(), 84u);
}

}  // namespace
}  // namespace sluice::fabric
