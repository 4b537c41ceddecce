// SPDX-License-Identifier: BSD-3-Clause
//
// Checks the order of the driver's register stores, store by store, because the NIC has hazards
// that its responses do not reveal (docs/enso-hardware.md, "Traps").
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "net_enso/enso_device.h"
#include "net_enso/fixture.h"
#include "net_enso/stepped_nic.h"

namespace sluice::net_enso {
namespace {

using namespace regs::enso;
using std::chrono::steady_clock;

constexpr Geometry kSmallRings{.pipe_flits = 64, .nb_entries = 512, .notify_per_packet = false};

/// Tracks the register values of every pipe.
class Referee {
 public:
  void Watch(bar::RegisterAccess store) {
    if (store.offset >= NbPage(0)) return;
    const uint32_t reg = store.offset % kPageBytes;
    Pipe& pipe = pipes_[store.offset / kPageBytes];
    if (reg == kRxMemLo) {
      if (store.bytes != 8) ++halves;
      if (store.value == 0 && pipe.address != 0) {
        shortest = std::min(shortest, steady_clock::now() - pipe.head_stored);
      }
      pipe.address = store.value;
    }
    if (reg == kRxHead) {
      if (pipe.address == 0) ++heads_of_disabled_pipes;
      pipe.head_stored = steady_clock::now();
    }
  }

  uint32_t heads_of_disabled_pipes = 0;
  uint32_t halves = 0;  ///< Number of addresses that were stored as two halves.
  /// Shortest time between the last head store of a pipe and the end of the pipe.
  steady_clock::duration shortest = steady_clock::duration::max();

 private:
  struct Pipe {
    uint64_t address = 0;
    steady_clock::time_point head_stored;
  };
  std::map<uint32_t, Pipe> pipes_;
};

class OrderTest : public testing::Test {
 protected:
  OrderTest() {
    nic_.on_store = [this](bar::RegisterAccess store) { referee_.Watch(store); };
    // Simulates state that a dead process left in the NIC.
    nic_.device().WriteRegister(PipePage(8191) + kRxTail, 4, 9);
    nic_.device().WriteRegister(PipePage(8191) + kRxHead, 4, 9);
    nic_.device().WriteRegister(PipePage(0) + kRxHead, 4, 0);
    device_ = std::make_unique<Device>(std::make_unique<SteppedBackend>(nic_), kSmallRings);
  }
  ~OrderTest() override {
    Control([&] { device_.reset(); });
  }

  /// Runs control-path code while the NIC answers.
  template <typename Call>
  void Control(Call call) {
    nic_.Control([&] {
      call();
      return 0;
    });
  }
  NotificationBuffer* OpenNb() {
    NotificationBuffer* nb = nullptr;
    Control([&] {
      const std::scoped_lock lock(device_->mutex());
      EXPECT_EQ(device_->OpenNb(&nb), 0);
    });
    return nb;
  }
  Pipe* OpenPipe(NotificationBuffer* nb, FallbackOwner owner) {
    Pipe* pipe = nullptr;
    Control([&] {
      const std::scoped_lock lock(device_->mutex());
      const bool fallback = owner != FallbackOwner::kNone;
      EXPECT_EQ(device_->OpenPipe(nb, RTE_PMD_ENSO_RX, fallback, owner, &pipe), 0);
    });
    return pipe;
  }
  void ClosePipe(Pipe* pipe) {
    Control([&] {
      const std::scoped_lock lock(device_->mutex());
      device_->ClosePipe(pipe);
    });
  }
  void Bind(Pipe* pipe, uint16_t port) {
    Control([&] {
      const std::scoped_lock lock(device_->mutex());
      EXPECT_EQ(device_->BindFlow(pipe, {.dst_ip = FrameSpec{}.dst_ip, .dst_port = port}), 0);
    });
  }
  void Receive(uint16_t port) {
    const Bytes frame = Ipv4Frame({.length = 100, .dst_port = port});
    const device::WireFrame wire = {frame.data(), static_cast<uint32_t>(frame.size())};
    EXPECT_EQ(nic_.device().Receive({&wire, 1}, false), 1u);
  }
  /// Receives all data, returns it to the NIC, and stores the heads.
  void Echo(NotificationBuffer* nb) {
    rte_pmd_enso_span spans[8];
    const uint16_t count = rte_pmd_enso_poll(nb, spans, 8, 0);
    for (uint16_t i = 0; i < count; ++i) rte_pmd_enso_release(spans[i].pipe, spans[i].bytes);
    rte_pmd_enso_flush(nb);
  }
  uint64_t Count(std::string_view name) {
    for (const device::Counter& counter : nic_.device().Counters()) {
      if (counter.name == name) return counter.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }

  SteppedNic nic_{kSmallRings};
  Referee referee_;
  std::unique_ptr<Device> device_;
};

TEST_F(OrderTest, AHeadIsStoredOnlyWhileItsPipeIsEnabled) {
  NotificationBuffer* nb = OpenNb();
  for (int round = 0; round < 3; ++round) {
    Pipe* flow = OpenPipe(nb, FallbackOwner::kNone);
    Pipe* fallback = OpenPipe(nb, FallbackOwner::kNative);
    Bind(flow, 80);
    for (const uint16_t port : {80, 81, 80}) Receive(port);
    Echo(nb);
    ClosePipe(flow);
    ClosePipe(fallback);
  }
  EXPECT_EQ(referee_.heads_of_disabled_pipes, 0u);
  EXPECT_EQ(referee_.halves, 0u);
  EXPECT_EQ(Count("rx_notification_holes"), 0u);
  EXPECT_EQ(Count("rx_frames"), 9u);
}

/// A head store may be queued in the NIC. If it is served after the pipe was disabled, it leaves a
/// hole.
TEST_F(OrderTest, ThePipeIsDisabledOnlyWhenItsLastHeadStoreIsServed) {
  NotificationBuffer* nb = OpenNb();
  Pipe* pipe = OpenPipe(nb, FallbackOwner::kNative);
  Control([&] {
    const std::scoped_lock lock(device_->mutex());
    EXPECT_EQ(device_->StopFallback(), 0);
  });
  Echo(nb);
  rte_pmd_enso_prefetch(pipe);
  ClosePipe(pipe);
  EXPECT_GE(referee_.shortest, std::chrono::microseconds(10));
}

TEST_F(OrderTest, StoppingTheFallbackForgetsNoPipeThatFlowsReach) {
  NotificationBuffer* nb = OpenNb();
  Pipe* flow = OpenPipe(nb, FallbackOwner::kNone);
  Pipe* fallback = OpenPipe(nb, FallbackOwner::kEthdev);
  Bind(flow, 80);
  Control([&] {
    const std::scoped_lock lock(device_->mutex());
    EXPECT_EQ(device_->StopFallback(), 0);
  });
  EXPECT_TRUE(flow->reachable) << "frames in flight are waited for when it closes";
  EXPECT_FALSE(fallback->reachable) << "they were waited for";
}

/// A frame of two flits for a disabled pipe wedges the NIC. Such frames arrive continuously while
/// pipes are opened and closed.
TEST_F(OrderTest, FramesNeverMeetADisabledPipe) {
  NotificationBuffer* nb = OpenNb();
  nic_.while_controlled = [this] {
    for (const uint16_t port : {80, 81, 82}) Receive(port);
  };
  for (int round = 0; round < 5; ++round) {
    Pipe* flows[] = {OpenPipe(nb, FallbackOwner::kNone), OpenPipe(nb, FallbackOwner::kNone)};
    Pipe* fallback = OpenPipe(nb, FallbackOwner::kNative);
    Bind(flows[0], 80);
    Bind(flows[1], 81);
    Echo(nb);
    ClosePipe(flows[round % 2]);
    ClosePipe(fallback);
    ClosePipe(flows[1 - round % 2]);
  }
  nic_.while_controlled = nullptr;
  EXPECT_GT(Count("rx_frames"), 0u);
  EXPECT_EQ(Count("rx_pipe_disabled") + Count("rx_nb_disabled") + Count("wedged"), 0u);
  EXPECT_EQ(Count("rx_notification_holes"), 0u);
}

}  // namespace
}  // namespace sluice::net_enso
