// SPDX-License-Identifier: BSD-3-Clause
//
// Runs two processes at the ends of a cable and kills one of them at random moments. Received
// frames must be complete and in order, and must have been sent; the next process must be able to
// join.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "cable_rig.h"

namespace sluice::emulator {
namespace {

using Clock = std::chrono::steady_clock;

uint64_t Now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
          .count());
}

/// Echoes frames until the process is killed.
[[noreturn]] void Echo(const std::string& path) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  MacAddress mac = {};
  std::string error;
  const auto wire = CableWire::Create(path, "net_child0", &mac, &error);
  if (wire == nullptr) _exit(1);
  for (;;) {
    wire->LinkUp(Now_ns());
    const auto frames = wire->Ready() ? wire->Pull(0, 256) : std::span<const device::WireFrame>();
    if (!frames.empty()) wire->Deliver(0, frames);
    wire->Consumed(static_cast<uint32_t>(frames.size()));
  }
}

class Child {
 public:
  explicit Child(const std::string& path) : pid_(fork()) {
    if (pid_ == 0) Echo(path);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  const pid_t pid_;
};

/// Sends numbered frames and checks the returned ones.
class Survivor {
 public:
  explicit Survivor(const std::string& path) {
    MacAddress mac = {};
    std::string error;
    wire_ = CableWire::Create(path, "net_test0", &mac, &error);
    EXPECT_NE(wire_, nullptr) << error;
  }

  /// Runs for `time`, or until `until` returns true. Returns false if the time elapsed first.
  template <typename Until>
  bool Run(std::chrono::microseconds time, bool send, Until until) {
    for (const auto end = Clock::now() + time; Clock::now() < end;) {
      if (wire_->LinkUp(Now_ns()) && send && wire_->Ready()) {
        SendNumbered(*wire_, sent_, 32, 60 + sent_ % 500);
        sent_ += 32;
      }
      const auto frames = wire_->Pull(0, 256);
      for (const device::WireFrame& frame : frames) Check(frame);
      wire_->Consumed(static_cast<uint32_t>(frames.size()));
      if (until()) return true;
    }
    return false;
  }
  bool AwaitLink(bool up) {
    return Run(std::chrono::seconds(20), false, [&] { return wire_->LinkUp(Now_ns()) == up; });
  }
  CableWire& wire() { return *wire_; }
  uint64_t sent() const { return sent_; }
  uint64_t returned() const { return returned_; }

 private:
  void Check(const device::WireFrame& frame) {
    uint32_t number = 0;
    std::memcpy(&number, frame.data, sizeof(number));
    ASSERT_TRUE(IsNumbered(frame, number)) << "torn";
    ASSERT_LT(number, sent_) << "never sent";
    ASSERT_GE(number, next_) << "out of order, or twice";
    next_ = number + 1;
    ++returned_;
  }

  std::unique_ptr<CableWire> wire_;
  uint32_t sent_ = 0;
  uint32_t next_ = 0;
  uint64_t returned_ = 0;
};

TEST(CableKill, WhoeverIsKilledTheSurvivorIsJoinedByTheNext) {
  const TemporarySocketPath place;
  std::mt19937 random(3);
  auto first =
      std::make_unique<Child>(place.path());  // Listens if it starts first; either order works.
  Survivor survivor(place.path());
  constexpr uint64_t kKills = 12;
  for (uint64_t i = 0; i < kKills; ++i) {
    ASSERT_TRUE(survivor.AwaitLink(true)) << i;
    const uint64_t before = survivor.returned();
    ASSERT_TRUE(survivor.Run(std::chrono::seconds(20), true,
                             [&] { return survivor.returned() > before + 100; }));
    survivor.Run(std::chrono::microseconds(random() % 5000), true, [] { return false; });
    first.reset();
    ASSERT_TRUE(survivor.AwaitLink(false)) << i;
    first = std::make_unique<Child>(place.path());
  }
  ASSERT_TRUE(survivor.AwaitLink(true));
  CableWire& wire = survivor.wire();
  EXPECT_EQ(Count(wire, "cable_joins"), kKills + 1);
  EXPECT_EQ(Count(wire, "cable_full"), 0u) << "it waited";
  EXPECT_EQ(Count(wire, "cable_down"), 0u) << "it did not send without a carrier";
  EXPECT_LE(survivor.returned() + Count(wire, "cable_cut_tx") + Count(wire, "cable_cut_rx"),
            survivor.sent());
  // No frame is lost while both ends are alive.
  const uint64_t sent = survivor.sent(), returned = survivor.returned();
  ASSERT_TRUE(survivor.Run(std::chrono::seconds(20), true,
                           [&] { return survivor.sent() > sent + 10'000; }));
  const uint64_t more = survivor.sent() - sent;
  EXPECT_TRUE(survivor.Run(std::chrono::seconds(20), false,
                           [&] { return survivor.returned() == returned + more; }));
}

}  // namespace
}  // namespace sluice::emulator
