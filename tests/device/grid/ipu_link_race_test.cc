// SPDX-License-Identifier: BSD-3-Clause
//
// Tests links of regions on blocks that run concurrently with each other and with a host, each in a
// separate thread. Meanwhile, links are re-enabled, and memory is added and removed, which pauses
// all blocks. Runs under ThreadSanitizer, without EAL.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bar/dma.h"
#include "bar/posted_queue.h"
#include "emulator/hosted_model.h"
#include "emulator/ipu_model.h"
#include "emulator/model.h"
#include "model_statistics.h"
#include "regs/ipu.h"
#include "swap/host_link.h"

namespace sluice::device::grid {
namespace {

using namespace regs::ipu;  // NOLINT: the registers of this device
using std::chrono::steady_clock;

/// A host with two links that sends every frame back in place.
class LinkedHost {
 public:
  explicit LinkedHost(emulator::HostedModel& model)
      : model_(model), memory_(new (std::align_val_t{kPageBytes}) uint8_t[kBytes]()) {
    EXPECT_TRUE(dma_.Add(kBus, memory_.get(), kBytes - kPageBytes));
    std::string error;
    EXPECT_TRUE(model.Connect({}, dma_, queue_.get(), &error)) << error;
    queue_->Post(kPortControl, 4, kPortReceive | kPortPromiscuous);
    queue_->Post(kMaxFrame, 4, kMaxFrameBytes);
    for (uint32_t at = 0; at < kRssKeyBytes; at += 4) queue_->Post(kRssKey + at, 4, 0x6d5a'6d5a);
    for (uint32_t at = 0; at < kRetaEntries; at += 4) queue_->Post(kReta + at, 4, 0x0100'0100);
    queue_->Post(kRssFields, 4, kRssIpv4Udp);
    for (uint32_t queue = 0; queue < kLinks; ++queue) {
      const std::span<uint8_t> memory(memory_.get() + queue * kLinkStride, kLinkStride);
      links_[queue] = swap::HostLink::Open(
          swap::LinkMemory::Format(memory, {.regions = 4, .region_bytes = 16384, .max_frames = 64}),
          ~0ull);
      Enable(queue);
      links_[queue]->Give(0, true);
    }
  }
  ~LinkedHost() { model_.Disconnect(false); }

  /// Runs until `done` returns true. Returns false if that takes longer than kPatience.
  template <typename Done>
  bool Run(Done done) {
    const auto end = steady_clock::now() + kPatience;
    for (uint64_t round = 1; steady_clock::now() < end; ++round) {
      for (uint32_t queue = 0; queue < kLinks; ++queue) Echo(*links_[queue]);
      if (round % 512 == 0) Disturb(round / 512);
      if (round % 64 == 0) {
        if (done()) return true;
        std::this_thread::yield();
      }
    }
    return false;
  }
  uint64_t frames() const { return frames_; }

 private:
  static constexpr uint64_t kBus = 0x55'0000'0000;
  static constexpr uint32_t kLinks = 2, kLinkStride = 128 << 10;
  static constexpr size_t kBytes = kLinks * kLinkStride + kPageBytes;
  static constexpr std::chrono::seconds kPatience{30};

  void Enable(uint32_t queue) {
    const uint32_t page = QueuePage(queue) + kLinkBlock;
    queue_->Post(page + kLinkBase, 8, kBus + queue * kLinkStride);
    queue_->Post(page + kLinkBytes, 8, kLinkStride);
    queue_->Post(page + kLinkEpoch, 4, links_[queue]->epoch());
    queue_->Post(page + kLinkControl, 4, kLinkEnable);
  }

  void Echo(swap::HostLink& link) {
    if (!link.holding() && !link.Poll(1)) return;
    const swap::Region region = link.region();
    for (uint32_t i = 0; i < link.received(); ++i) {
      const swap::Entry entry = region.entries()[i];
      ASSERT_TRUE(swap::EntryIsSound(entry, link.geometry()));
      ++region.base[swap::EntryOffset(entry) + 20];  // Applications may change these bytes.
    }
    frames_ += link.received();
    // Frames are not sent while an offer waits.
    link.Give(link.received(), link.received() == 0);
  }

  void Disturb(uint64_t number) {
    const auto queue = static_cast<uint32_t>(number / 2 % kLinks);
    if (number % 2 == 0) {
      links_[queue]->Reset();
      return Enable(queue);
    }
    // The last page is not used.
    model_.ChangeMemory([&] {
      const uint64_t bus = kBus + kBytes;
      if (number % 4 == 1) {
        EXPECT_TRUE(dma_.Add(bus, memory_.get() + kBytes - kPageBytes, kPageBytes));
      } else {
        dma_.Remove(bus);
      }
    });
  }

  struct Free {
    void operator()(uint8_t* at) const { operator delete[](at, std::align_val_t{kPageBytes}); }
  };
  emulator::HostedModel& model_;
  bar::DmaSpace dma_;
  std::unique_ptr<bar::PostedQueue> queue_ = std::make_unique<bar::PostedQueue>();
  std::unique_ptr<uint8_t[], Free> memory_;
  std::unique_ptr<swap::HostLink> links_[kLinks];
  uint64_t frames_ = 0;
};

struct LinkTraffic {
  const char* name;
  const char* on;
  const char* wire;
  const char* pause;
};
std::ostream& operator<<(std::ostream& out, const LinkTraffic& run) { return out << run.name; }

class LinksRace : public testing::TestWithParam<LinkTraffic> {};

TEST_P(LinksRace, BesideAHostLoseNothing) {
  const LinkTraffic& run = GetParam();
  const std::vector<std::pair<std::string, std::string>> given = {
      {"wire", run.wire}, {"pause", run.pause}, {"verify", "full"}, {"on", run.on}};
  std::string error;
  const auto arguments = emulator::ParseArguments(given, &error);
  ASSERT_TRUE(arguments) << error;
  const auto model = emulator::MakeModel("race", emulator::kIpuModel, *arguments, &error);
  ASSERT_NE(model, nullptr) << error;
  LinkedHost host(*model);
  model->EnableWire(true);
  ModelStatistics value(*model);
  const uint64_t frames = arguments->generator.count;
  EXPECT_TRUE(host.Run([&] {
    value.Update();
    return value("wire_offered") == frames && value("wire_returned") == value("wire_accepted");
  }));
  EXPECT_EQ(value("wire_offered"), frames);
  EXPECT_EQ(value("wire_returned"), value("wire_accepted"));
  // Frames that arrive before the links are enabled are dropped.
  EXPECT_EQ(value("wire_accepted") + value("model_rx_no_region") + value("model_rx_disabled"),
            frames);
  if (arguments->pause) {
    EXPECT_EQ(value("model_rx_no_region"), 0u);
  }
  for (const char* name : {"wire_corrupted", "wire_foreign", "wire_duplicated", "wire_reordered",
                           "model_link_bad_entries", "model_link_faults"}) {
    EXPECT_EQ(value(name), 0u) << name;
  }
  EXPECT_EQ(value("wire_verified"), value("wire_returned"));
  EXPECT_EQ(host.frames(), value("wire_accepted"));
}

INSTANTIATE_TEST_SUITE_P(
    All, LinksRace,
    testing::Values(
        LinkTraffic{"AtFullRate", "threads:threads=5+receivers=2+senders=1+exchangers=2+batch=64",
                    "gen:size=64+flows=100+count=20000", "on"},
        LinkTraffic{"WithDrops", "threads:threads=6+receivers=3+senders=1+exchangers=1+batch=32",
                    "gen:size=imix+flows=100+count=8000", "off"},
        LinkTraffic{"FrameByFrame", "threads:threads=4+receivers=2+senders=1+exchangers=2+batch=1",
                    "gen:size=64/128/1518+flows=50+count=3000+rate=20k", "on"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sluice::device::grid
