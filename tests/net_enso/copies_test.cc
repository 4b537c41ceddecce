// SPDX-License-Identifier: BSD-3-Clause
//
// Tests frames that outgrow their space in a pipe and are therefore sent as copies, in order with
// frames that are sent in place. The frames pass StreamingQueue, EnsoPipes, the driver and the
// model, and are compared byte by byte on the wire.
#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <sched.h>

#include <algorithm>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../eal_run.h"
#include "net_enso/enso_port.h"
#include "nic/contracts.h"
#include "nic/enso_pipes.h"
#include "nic/frames.h"
#include "nic/streaming.h"
#include "stepped_nic.h"

namespace sluice::net_enso {
namespace {

using nic_test::Bytes;
using nic_test::Ipv4Frame;
using nic_test::PutBe16;
using packet::Frame;

constexpr char kName[] = "stepped";
constexpr uint32_t kSmallPipe = 256;  // In flits. This is 16 KiB, so that rings wrap often.

/// How a frame is handled; selected by its first byte.
enum Order : uint8_t { kStays, kGrows, kGrowsElsewhere, kDropped, kOrders };

/// Returns `frame` with 20 more bytes of IPv4 header before its packet.
Bytes Grown(const Bytes& frame) {
  Bytes grown(frame.begin(), frame.begin() + 34);
  grown.insert(grown.end(), frame.begin() + 14, frame.end());
  PutBe16(grown, 16, static_cast<uint32_t>(grown.size() - 14));
  return grown;
}

class Builder final : public packet::Engine {
 public:
  packet::Verdict Process(Frame& frame, uint64_t /*now*/) {
    ++processed;
    const uint8_t order = frame.data[0];
    if (order == kDropped) return packet::Drop(1);
    if (order == kStays) return packet::kForward;
    const Bytes grown = Grown(Bytes(frame.data, frame.data + frame.length));
    const bool at_spare = frame.spare != nullptr && order == kGrows;
    spares += at_spare;
    frame.data = at_spare ? frame.spare : room_.data() + 7;
    std::ranges::copy(grown, frame.data);
    frame.length = static_cast<uint32_t>(grown.size());
    return packet::kForward;
  }
  uint32_t processed = 0;
  uint32_t spares = 0;

 private:
  Bytes room_ = Bytes(2000);
};

/// A worker with one pipe, and its wire.
class Worker {
 public:
  explicit Worker(nic_test::Contract contract = nic_test::Contract::kFrames) : contract_(contract) {
    device_.name = kName;
    EXPECT_EQ(CreatePort(&device_, kName, std::make_unique<SteppedBackend>(nic_), kGeometry, 1), 0);
    EXPECT_EQ(rte_eth_dev_get_port_by_name(kName, &port_), 0);
    std::string error;
    auto pipes = nic_.Control([&] { return nic::EnsoPipes::Open(port_, 1, {}, &error); });
    EXPECT_TRUE(pipes) << error;
    queue_ = std::make_unique<nic::StreamingQueue<nic::EnsoPipes>>(*std::move(pipes));
    nic_.on_frame = [this](const device::WireFrame& frame) {
      left.emplace_back(frame.data, frame.data + frame.length);
    };
  }
  ~Worker() {
    nic_.Control([&] {
      queue_.reset();
      return rte_eth_dev_close(port_);
    });
  }

  /// Passes all frames to the worker at once and waits until they are processed.
  void Handle(std::span<const Bytes> frames, Builder& engine) {
    std::vector<device::WireFrame> arrived;
    for (const Bytes& frame : frames) {
      arrived.push_back({frame.data(), static_cast<uint32_t>(frame.size())});
    }
    ASSERT_EQ(nic_.device().Receive(arrived, false), arrived.size());
    const size_t all = engine.processed + frames.size();
    for (int poll = 0; poll < 100 && engine.processed < all; ++poll) {
      nic_test::PollBy(contract_, *queue_, engine);
      nic_.Step();
    }
    ASSERT_EQ(engine.processed, all);
    nic_.Step();
  }
  /// Sends additional frames while the device works. Returns the accepted frames. On a busy
  /// machine, some frames are rejected because the device takes longer than the worker's maximum
  /// wait.
  std::vector<Bytes> Send(std::span<const Bytes> frames) {
    return nic_.Control([&] {
      std::vector<Bytes> accepted;
      for (const Bytes& frame : frames) {
        if (queue_->Send(frame.data(), static_cast<uint32_t>(frame.size()))) {
          accepted.push_back(frame);
        }
      }
      queue_->FlushSent();
      queue_->Drain();
      return accepted;
    });
  }
  const nic::QueueCounters& counters() const { return queue_->counters(); }

  std::vector<Bytes> left;

 private:
  static constexpr Geometry kGeometry{kSmallPipe, regs::enso::kDefaultNbEntries, false};

  nic_test::Contract contract_;
  SteppedNic nic_{kGeometry};
  rte_device device_{};
  uint16_t port_ = 0;
  std::unique_ptr<nic::StreamingQueue<nic::EnsoPipes>> queue_;
};

Bytes Numbered(uint32_t length, uint32_t number) {
  Bytes frame = Ipv4Frame(length);
  for (uint32_t i = 42; i < length; ++i) frame[i] = static_cast<uint8_t>(number * 7 + i);
  PutBe16(frame, 18, number);
  return frame;
}

class Copies : public testing::TestWithParam<nic_test::Contract> {};
INSTANTIATE_TEST_SUITE_P(Contracts, Copies, nic_test::kContracts, nic_test::NameOf);

TEST_P(Copies, AndFramesThatStayLeaveInOneOrder) {
  std::mt19937 random(1);
  Worker worker(GetParam());
  Builder engine;
  std::vector<Bytes> expected;
  uint32_t dropped = 0, grow = 0;
  for (uint32_t round = 0; round < 300; ++round) {
    std::vector<Bytes> frames;
    // A round fills at most half of the pipe, because the space of the previous round may not have
    // been released yet.
    for (uint32_t i = 0; i < 1 + random() % 5; ++i) {
      Bytes frame = Numbered(60 + random() % (random() % 3 == 0 ? 1400 : 100), round * 8 + i);
      frame[0] = round % 3 == 0 ? uint8_t{kGrows} : static_cast<uint8_t>(random() % kOrders);
      dropped += frame[0] == kDropped;
      grow += frame[0] == kGrows;
      if (frame[0] == kStays) expected.push_back(frame);
      if (frame[0] == kGrows || frame[0] == kGrowsElsewhere) expected.push_back(Grown(frame));
      frames.push_back(frame);
    }
    worker.Handle(frames, engine);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(worker.left, expected);
  EXPECT_EQ(worker.counters().tx_pkts, expected.size());
  EXPECT_EQ(worker.counters().engine_drops[1], dropped);
  EXPECT_TRUE(worker.counters().Conserved());
  // Each kGrows frame uses the spare space, except the first one, which precedes any request for
  // spare space, and those for which the ring had no space.
  EXPECT_GT(engine.spares, grow / 2);
}

TEST(CopiesThatAreSent, WaitForRoomInARingThatIsSmallerThanTheyAre) {
  std::mt19937 random(2);
  std::vector<Bytes> frames;
  for (uint32_t i = 0; i < 500; ++i) frames.push_back(Numbered(60 + random() % 1450, i));
  Worker worker;
  const std::vector<Bytes> accepted = worker.Send(frames);
  EXPECT_EQ(worker.left, accepted);
  EXPECT_GE(accepted.size(), 10u) << "16 KiB";
  EXPECT_EQ(worker.counters().tx_pkts, accepted.size());
  EXPECT_EQ(worker.counters().tx_full, frames.size() - accepted.size());
}

}  // namespace
}  // namespace sluice::net_enso

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  cpu_set_t all_cpus;
  sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
  const sluice::EalRun eal(argv[0], {"--no-pci", "--lcores=0@0", "--no-huge", "-m", "64",
                                     "--no-telemetry", "--log-level=error"});
  if (!eal.started()) return 1;
  // The device runs on a separate thread while the worker waits, so it must not be bound to EAL's
  // CPU.
  sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
  return RUN_ALL_TESTS();
}
