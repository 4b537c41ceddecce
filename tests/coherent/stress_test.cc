// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the two ends of an endpoint in two threads, with requests, frames from the host, loads that
// wait too long, and preemption. Every request must be executed once and answered once, with every
// byte of its reply.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "bar/ring_memory.h"
#include "coherent/host_end.h"
#include "coherent/nic_end.h"
#include "payload.h"

namespace sluice::coherent::test {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kRequests = 2'500;
#else
constexpr uint64_t kRequests = 20'000;
#endif
constexpr uint64_t kFrames = kRequests / 4;
/// Timeouts as numbers of calls of Look, which serve as the NIC's clock in this test.
constexpr uint64_t kTryAgainLooks = 2000;
constexpr uint64_t kLeaveLooks = ~uint64_t{0} >> 1;

struct HostCounts {
  uint64_t executed = 0, torn = 0, sent = 0, yields = 0;
};

void RunHost(const EndpointMemory& memory, WaitMethod method, HostCounts& counts) {
  HostEnd host(memory, method);
  for (;;) {
    if (counts.sent < kFrames && host.Grant(0) == Got::kContent) {
      const uint64_t serial = counts.sent + 1;
      Fill(host.SendRoom(), serial, ReplyLength(serial));
      counts.sent +=
          host.Send({.kind = Kind::kFrames, .length = ReplyLength(serial), .code = serial});
    }
    switch (host.Wait(counts.sent < kFrames ? 0 : 1000)) {
      case Got::kContent: {
        const uint64_t serial = host.content().code;
        counts.torn += !IsWhole(host.payload(), serial, RequestLength(serial));
        counts.torn += serial != ++counts.executed;
        Fill(host.Room(), ~serial, ReplyLength(serial));
        host.Return({.kind = Kind::kReply, .length = ReplyLength(serial), .code = serial});
        break;
      }
      case Got::kYieldNow:
        ++counts.yields;
        break;
      case Got::kBarred:
        std::this_thread::yield();
        break;
      case Got::kClosed:
        return;
      default:
        break;
    }
  }
}

class Stress : public ::testing::TestWithParam<const char*> {};

TEST_P(Stress, EveryRequestIsExecutedAndAnsweredOnce) {
  const WaitMethod method = *WaitMethodOf(GetParam());
  if (!CanWaitBy(method)) GTEST_SKIP() << "this processor has no " << GetParam();
  const Geometry geometry = {.overflow_lines = 3};
  const auto ring = bar::RingMemory::Create(4096, false, bar::RingMemory::Pages::kPreferHuge);
  ASSERT_TRUE(ring);
  ASSERT_LE(geometry.Bytes(), ring.bytes());
  const EndpointMemory memory = EndpointMemory::Format({ring.data(), ring.bytes()}, geometry);
  HostCounts host;
  std::thread thread([&] { RunHost(memory, method, host); });

  NicEnd nic(memory, {.try_again_ns = kTryAgainLooks, .leave_ns = kLeaveLooks}, 0);
  uint64_t delivered = 0, answered = 0, sent = 0, torn = 0, looks = 0, preempts = 0;
  while ((answered < kRequests || sent < kFrames) && !nic.closed()) {
    ++looks;
    const Seen seen = nic.Look(Pair::kReceive, looks);
    if (seen == Seen::kReturned) {
      const Returned& back = nic.returned(Pair::kReceive);
      torn += back.tag != ++answered || back.status != answered ||
              !IsWhole(back.payload, ~answered, ReplyLength(answered));
    }
    if (seen == Seen::kLeft) nic.Resume();
    // Delays every thousandth request until a load has waited too long.
    const bool held = nic.counters(Pair::kReceive).try_again < (delivered + 1) / 1000;
    if (nic.Waits(Pair::kReceive) && delivered < kRequests && !held) {
      const uint64_t serial = delivered + 1;
      Fill(nic.Room(Pair::kReceive), serial, RequestLength(serial));
      delivered += nic.Deliver(
          Pair::kReceive, {.kind = Kind::kRequest, .length = RequestLength(serial), .code = serial},
          0, serial);
    }
    if (delivered / 500 > preempts) preempts += nic.Preempt(looks);
    if (nic.Look(Pair::kTransmit, looks) == Seen::kReturned) {
      const Returned& back = nic.returned(Pair::kTransmit);
      torn += back.status != ++sent || !IsWhole(back.payload, sent, ReplyLength(sent));
    }
    nic.Deliver(Pair::kTransmit, {.kind = Kind::kGrant}, 0, 0);
  }
  nic.Kill();
  thread.join();
  EXPECT_EQ(nic.counters(Pair::kReceive).faults, 0u);
  EXPECT_EQ(answered, kRequests);
  EXPECT_EQ(sent, kFrames);
  EXPECT_EQ(host.executed, kRequests);
  EXPECT_EQ(host.torn + torn, 0u);
  EXPECT_GT(host.yields, 0u) << "preemption was meant to happen";
  EXPECT_GE(nic.counters(Pair::kReceive).try_again, kRequests / 1000);
}
INSTANTIATE_TEST_SUITE_P(By, Stress, ::testing::Values("pause", "umwait", "monitorx"));

}  // namespace
}  // namespace sluice::coherent::test
