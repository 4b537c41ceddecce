// SPDX-License-Identifier: BSD-3-Clause
//
// Runs both ends of a cable in separate threads, as two models in one process do. Runs under
// ThreadSanitizer; needs no EAL.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "cable_rig.h"

namespace sluice::emulator {
namespace {

/// An end that is stepped in real time, because its peer timeouts are in real time.
struct Stepped {
  explicit Stepped(const TemporarySocketPath& place) {
    MacAddress mac = {};
    std::string error;
    wire = CableWire::Create(place.path(), "net_test0", &mac, &error, std::chrono::milliseconds(0));
    EXPECT_NE(wire, nullptr) << error;
  }
  bool LinkUp() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return wire->LinkUp(std::chrono::nanoseconds(now).count());
  }

  std::unique_ptr<CableWire> wire;
};

TEST(CableThreads, AFullRingLosesNothingWhereTheSenderWaits) {
  constexpr uint32_t kFrames = 20'000;
  TemporarySocketPath place;
  Stepped a(place);
  std::thread receiver([&] {
    Stepped b(place);
    for (uint32_t taken = 0; taken < kFrames;) {
      b.LinkUp();
      const uint32_t now = ReceiveNumbered(*b.wire, taken);
      taken += now;
      if (now == 0) std::this_thread::yield();
    }
    EXPECT_EQ(b.wire->totals().offered, kFrames);
  });
  for (uint32_t sent = 0; sent < kFrames;) {
    if (!a.LinkUp() || !a.wire->Ready()) {
      std::this_thread::yield();
      continue;
    }
    const uint32_t burst = std::min(64u, kFrames - sent);
    SendNumbered(*a.wire, sent, burst, 60 + sent % 1400);
    sent += burst;
  }
  while (!a.wire->Ready()) std::this_thread::yield();
  receiver.join();
  EXPECT_EQ(Count(*a.wire, "cable_full"), 0u);
}

TEST(CableThreads, AnEndMayComeAndGoUnderTraffic) {
  TemporarySocketPath place;
  Stepped a(place);
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (int time = 0; time < 20; ++time) {
      Stepped b(place);
      uint32_t echoed = 0;
      while (echoed < 500) {
        b.LinkUp();
        const auto frames = b.wire->Pull(0, 64);
        b.wire->Deliver(0, frames);
        b.wire->Consumed(static_cast<uint32_t>(frames.size()));
        echoed += static_cast<uint32_t>(frames.size());
        if (frames.empty()) std::this_thread::yield();
      }
    }
    done = true;
  });
  uint32_t next = 0;
  uint64_t returned = 0;
  while (!done) {
    if (a.LinkUp() && a.wire->Ready()) {
      SendNumbered(*a.wire, next, 16);
      next += 16;
    }
    const auto frames = a.wire->Pull(0, 256);
    uint32_t last = 0;
    for (const device::WireFrame& frame : frames) {
      uint32_t number;
      std::memcpy(&number, frame.data, sizeof(number));
      EXPECT_TRUE(IsNumbered(frame, number));
      EXPECT_GE(number, last);
      last = number;
    }
    a.wire->Consumed(static_cast<uint32_t>(frames.size()));
    returned += frames.size();
    if (frames.empty()) std::this_thread::yield();
  }
  other.join();
  EXPECT_GT(returned, 0u);
  EXPECT_GE(Count(*a.wire, "cable_joins"), 20u);
  // Each frame that was sent has returned, was counted as dropped by this end, or was lost with the
  // peer.
  EXPECT_LE(returned + Count(*a.wire, "cable_cut_tx") + Count(*a.wire, "cable_cut_rx") +
                Count(*a.wire, "cable_down") + Count(*a.wire, "cable_full"),
            next);
}

}  // namespace
}  // namespace sluice::emulator
