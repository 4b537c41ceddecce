// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the blocks of the packetized NIC concurrently with the host of endpoints, each in a
// separate thread. Runs under ThreadSanitizer, without EAL.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bar/dma.h"
#include "bar/posted_queue.h"
#include "coherent/frame_host.h"
#include "emulator/hosted_model.h"
#include "emulator/ipu_model.h"
#include "emulator/model.h"
#include "model_statistics.h"
#include "regs/ipu.h"
#include "regs/ipu_port.h"

namespace sluice::device::grid {
namespace {

using namespace regs::ipu;  // NOLINT: the registers of this device
using std::chrono::steady_clock;

struct Frame {
  uint8_t* data;
  uint32_t length, headroom, tailroom;
};

/// A host with one endpoint per queue that returns all frames.
class LineHost {
 public:
  static constexpr uint32_t kQueues = 2;

  explicit LineHost(emulator::HostedModel& model)
      : model_(model), memory_(new (std::align_val_t{4096}) uint8_t[kBytes]()) {
    EXPECT_TRUE(dma_.Add(kBus, memory_.get(), kBytes));
    std::string error;
    EXPECT_TRUE(model.Connect({}, dma_, queue_.get(), &error)) << error;
    Write(kPortControl, kPortReceive | kPortPromiscuous);
    Write(kMaxFrame, kMaxFrameBytes);
    Write(kRssFields, kRssIpv4Udp | kRssIpv4Tcp);
    for (uint32_t at = 0; at < kRssKeyBytes; at += 4) Write(kRssKey + at, 0x6d5a'6d5a);
    for (uint32_t at = 0; at < kRetaEntries; at += 4) Write(kReta + at, 0x0100'0100);
    for (uint32_t queue = 0; queue < kQueues; ++queue) Enable(queue);
  }
  ~LineHost() { model_.Disconnect(false); }

  /// Opens a queue's endpoint in different memory than before, because a block may poll the words
  /// of an endpoint once more after the endpoint was closed.
  void Enable(uint32_t queue) {
    slots_[queue] ^= 1;
    uint8_t* const memory = MemoryOf(queue);
    std::fill(memory, memory + kStride, uint8_t{0});
    ends_[queue] = std::make_unique<coherent::FrameHost>(coherent::EndpointMemory::Format(
        {memory, kStride}, {.overflow_lines = 128, .headroom_bytes = 64}));
    const uint32_t page = QueuePage(queue) + kEndpointBlock;
    queue_->Post(page + kEndpointBase, 8, kBus + (memory - memory_.get()));
    queue_->Post(page + kEndpointBytes, 8, kStride);
    Write(page + kEndpointControl, kEndpointEnable);
    EXPECT_EQ(Status(queue), 1u);
  }
  void PostDisable(uint32_t queue) {
    Write(QueuePage(queue) + kEndpointBlock + kEndpointControl, 0);
  }
  uint64_t Status(uint32_t queue) {
    return queue_->Read({QueuePage(queue) + kEndpointBlock + kEndpointStatus, 4, 0});
  }
  /// Stores a load that does not follow the last one.
  void Violate(uint32_t queue) {
    auto& header = *reinterpret_cast<coherent::EndpointHeader*>(MemoryOf(queue));
    std::atomic_ref(header.host[0].load).store(7, std::memory_order_release);
  }

  /// Sends back the frames of all endpoints once. Returns whether there were any.
  bool Step() {
    bool any = false;
    for (const auto& end : ends_) {
      const uint32_t count = end->Wait(frames_.data());
      if (count == 0) continue;
      any = true;
      end->Answer<Frame>(nullptr, count);
    }
    return any;
  }
  /// Adds and removes memory, which stops all blocks and starts them again.
  void ChangeMemory() {
    model_.ChangeMemory([&] {
      EXPECT_TRUE(dma_.Add(kBus + kBytes, spare_.data(), spare_.size()));
      dma_.Remove(kBus + kBytes);
    });
  }
  void Disable() {
    for (uint32_t queue = 0; queue < kQueues; ++queue) {
      PostDisable(queue);
      EXPECT_EQ(Status(queue), 0u);
    }
  }

 private:
  static constexpr uint64_t kBus = 0x4000'0000;
  static constexpr uint32_t kStride = 128 << 10, kBytes = 2 * kQueues * kStride;
  struct Free {
    void operator()(uint8_t* at) const { operator delete[](at, std::align_val_t{4096}); }
  };

  uint8_t* MemoryOf(uint32_t queue) const {
    return memory_.get() + (2 * queue + slots_[queue]) * kStride;
  }
  void Write(uint32_t offset, uint32_t value) { queue_->Post(offset, 4, value); }

  emulator::HostedModel& model_;
  std::unique_ptr<uint8_t[], Free> memory_;
  alignas(4096) std::array<uint8_t, 4096> spare_{};
  bar::DmaSpace dma_;
  std::unique_ptr<bar::PostedQueue> queue_ = std::make_unique<bar::PostedQueue>();
  std::array<uint32_t, kQueues> slots_{};
  std::array<std::unique_ptr<coherent::FrameHost>, kQueues> ends_;
  std::array<Frame, coherent::FrameHost::kMaxFrames> frames_{};
};

class EndpointsRace : public testing::TestWithParam<const char*> {};

TEST_P(EndpointsRace, LoseNothing) {
  constexpr uint64_t kFrames = 6000;
  std::string error;
  const std::pair<std::string, std::string> given[] = {
      {"wire", std::string(GetParam()) + "+flows=20+count=" + std::to_string(kFrames)},
      {"verify", "full"},
      {"on", "threads:threads=5+receivers=2+senders=1+exchangers=2+batch=64"}};
  const auto arguments = emulator::ParseArguments(given, &error);
  ASSERT_TRUE(arguments) << error;
  const auto model = emulator::MakeModel("race", emulator::kIpuModel, *arguments, &error);
  ASSERT_NE(model, nullptr) << error;
  LineHost host(*model);
  model->EnableWire(true);
  ModelStatistics value(*model);
  const auto end = steady_clock::now() + std::chrono::seconds(60);
  for (uint64_t idle = 0, turns = 0; steady_clock::now() < end;) {
    if (host.Step()) {
      idle = 0;
      if (++turns % 100 == 0) host.ChangeMemory();
    } else if (++idle % 64 == 0) {
      std::this_thread::yield();
      value.Update();
      if (value("wire_returned") == kFrames) break;
    }
  }
  model->EnableWire(false);
  host.Disable();
  value.Update();
  EXPECT_EQ(value("wire_returned"), kFrames);
  EXPECT_EQ(value("wire_verified"), kFrames);
  EXPECT_EQ(value("model_rx_frames"), kFrames);
  EXPECT_GT(value("model_line_answers"), 0u);
  for (const char* name : {"wire_lost", "wire_corrupted", "wire_foreign", "wire_duplicated",
                           "wire_reordered", "model_line_faults", "model_line_bad_records"}) {
    EXPECT_EQ(value(name), 0u) << name;
  }
}

// One exchange block serves both endpoints. It closes the faulty host's endpoint while the register
// block disables the other one.
TEST(EndpointFaults, BesideAnEndpointThatIsDisabledStopNoBlock) {
  constexpr uint32_t kRounds = 200;
  std::string error;
  const std::pair<std::string, std::string> given[] = {
      {"wire", "gen:size=64"}, {"on", "threads:threads=4+receivers=1+senders=1+exchangers=1"}};
  const auto arguments = emulator::ParseArguments(given, &error);
  ASSERT_TRUE(arguments) << error;
  const auto model = emulator::MakeModel("faults", emulator::kIpuModel, *arguments, &error);
  ASSERT_NE(model, nullptr) << error;
  LineHost host(*model);
  for (uint32_t round = 0; round < kRounds && !HasFailure(); ++round) {
    host.Violate(0);
    host.PostDisable(1);
    EXPECT_EQ(host.Status(1), 0u);
    while (host.Status(0) != 0) std::this_thread::yield();
    host.Enable(0);
    host.Enable(1);
  }
  host.Disable();
  ModelStatistics value(*model);
  value.Update();
  EXPECT_EQ(value("model_line_faults"), kRounds);
}

INSTANTIATE_TEST_SUITE_P(All, EndpointsRace, testing::Values("gen:size=64", "gen:size=imix"),
                         [](const auto& info) { return info.index == 0 ? "Small" : "Imix"; });

}  // namespace
}  // namespace sluice::device::grid
