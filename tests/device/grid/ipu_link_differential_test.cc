// SPDX-License-Identifier: BSD-3-Clause
//
// Compares links of regions on a card with those of the CPU's model (device/ipu), with random
// geometries, frames, regions, invalid entries and offers, resets and restarts of the host. The
// hosts of both devices perform the same operations; all frames and all counters must be equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bar/dma.h"
#include "bar/shared_line.h"
#include "device/ipu/ipu_nic.h"
#include "host.h"
#include "ipu_card_nic.h"
#include "swap/host_link.h"

namespace sluice::device::grid {
namespace {

using namespace regs::ipu;  // NOLINT: the registers of this device

constexpr uint32_t kQueues = 2;
constexpr uint32_t kMemoryBytes = 1u << 20;
constexpr uint64_t kLinkBus = 0x4000'0000;

/// One of the two devices and its host.
template <typename Nic>
class LinkSide {
 public:
  template <typename... Config>
  explicit LinkSide(Config... config)
      : memory_(new (std::align_val_t{4096}) uint8_t[kQueues * kMemoryBytes]()),
        nic(dma, config...) {
    dma.Add(kLinkBus, memory_.get(), kQueues * kMemoryBytes);
  }

  std::span<uint8_t> Memory(uint32_t queue) {
    return {memory_.get() + size_t{queue} * kMemoryBytes, kMemoryBytes};
  }
  swap::HostLink& Link(uint32_t queue) { return *links[queue]; }
  void Write(uint32_t queue, uint32_t reg, uint64_t value, uint32_t bytes = 4) {
    nic.WriteRegister(QueuePage(queue) + kLinkBlock + reg, bytes, value);
  }
  void Enable(uint32_t queue) {
    Write(queue, kLinkBase, kLinkBus + uint64_t{queue} * kMemoryBytes, 8);
    Write(queue, kLinkBytes, kMemoryBytes, 8);
    Write(queue, kLinkEpoch, Link(queue).epoch());
    Write(queue, kLinkControl, kLinkEnable);
  }
  void Format(uint32_t queue, const swap::Geometry& geometry) {
    std::memset(Memory(queue).data(), 0, swap::LinkMemory::BytesFor(geometry));
    links[queue] = swap::HostLink::Open(swap::LinkMemory::Format(Memory(queue), geometry), ~0ull);
    Enable(queue);
  }
  /// Replaces the host's process.
  void Restart(uint32_t queue) {
    links[queue] = swap::HostLink::Open(swap::LinkMemory::Find(Memory(queue)), ~0ull);
    Enable(queue);
  }
  /// Offers a region that the host does not own, as the next transaction.
  void OfferWrong(uint32_t queue, uint32_t region) {
    auto& header = *reinterpret_cast<swap::LinkHeader*>(Memory(queue).data());
    bar::Line line;
    bar::ReadLine(header.nic_line, line);
    const swap::Message answered = swap::Decode(line);
    bar::ReadLine(header.host_line, line);
    swap::Message message = swap::Decode(line);
    message.txid = answered.txid + 1;
    message.phase = swap::Phase::kOffer;
    message.flags = swap::kStanding;
    message.key = swap::kAnyRegion;
    message.payload = {swap::Given{region, 1}.Word()};
    bar::PublishLine(header.host_line, swap::Encode(message));
  }
  void Settle() {
    for (uint32_t round = 0; round < 6; ++round) {
      while (nic.Transmit(sink, 1u << 20) != 0) {
      }
      for (auto& link : links) {
        if (link != nullptr) link->Poll(1);
      }
    }
  }

 private:
  struct Free {
    void operator()(uint8_t* at) const { operator delete[](at, std::align_val_t{4096}); }
  };
  std::unique_ptr<uint8_t[], Free> memory_;

 public:
  bar::DmaSpace dma;
  Nic nic;
  ipu::test::RecordingSink sink;
  std::array<std::unique_ptr<swap::HostLink>, kQueues> links;
};

class Links {
 public:
  explicit Links(uint32_t seed) : random_(seed) {
    Program();
    for (uint32_t queue = 0; queue < kQueues; ++queue) Format(queue);
    Settle();
  }

  void Step() {
    const uint32_t queue = Below(kQueues);
    switch (Below(40)) {
      case 0:
        Format(queue);
        break;
      case 1:
        Both([&](auto& side) { side.Write(queue, kLinkControl, 0); });
        disabled_[queue] = true;
        break;
      case 2:
        if (OneIn(4))
          Both([](auto& side) { side.nic.WriteRegister(kReset, 4, kResetMagic); });
        else
          break;
        disabled_.fill(true);
        Program();
        break;
      case 3:
        Both([&](auto& side) {
          side.Link(queue).Reset();
          side.Enable(queue);
        });
        disabled_[queue] = false;
        break;
      case 4:
        Both([&](auto& side) { side.Restart(queue); });
        disabled_[queue] = false;
        break;
      case 5:
      case 6:
        Both([&](auto& side) { side.Link(queue).Cancel(); });
        break;
      case 7:
        if (OneIn(6)) OfferWrong(queue);
        break;
      default:
        OneIn(2) ? Receive() : Give(queue);
    }
    if (!OneIn(4)) Settle();
  }

  void Settle() {
    Both([](auto& side) { side.Settle(); });
  }

  void Compare() {
    for (uint32_t queue = 0; queue < kQueues; ++queue) {
      const swap::HostLink &a = cpu.Link(queue), &b = card.Link(queue);
      ASSERT_EQ(a.holding(), b.holding()) << queue;
      ASSERT_EQ(a.faulted(), b.faulted()) << queue;
      ASSERT_EQ(a.counters().swaps, b.counters().swaps) << queue;
      ASSERT_EQ(a.counters().rejected, b.counters().rejected) << queue;
      ASSERT_EQ(a.counters().discarded_pkts, b.counters().discarded_pkts) << queue;
      if (!a.holding()) continue;
      ASSERT_EQ(a.received(), b.received()) << queue;
      for (uint32_t i = 0; i < a.received(); ++i) {
        const swap::Entry entry = a.region().entries()[i];
        ASSERT_EQ(entry, b.region().entries()[i]) << queue;
        const uint32_t offset = swap::EntryOffset(entry), length = swap::EntryLength(entry);
        ASSERT_LE(offset + length, a.geometry().region_bytes);
        ASSERT_EQ(std::memcmp(a.region().base + offset, b.region().base + offset, length), 0);
      }
    }
    // The order of frames of different queues is undefined.
    std::sort(cpu.sink.frames.begin(), cpu.sink.frames.end());
    std::sort(card.sink.frames.begin(), card.sink.frames.end());
    ASSERT_EQ(cpu.sink.frames, card.sink.frames);
    cpu.sink.frames.clear();
    card.sink.frames.clear();
    for (uint32_t at = 0; at < kStatisticCount; ++at) {
      ASSERT_EQ(cpu.nic.ReadRegister(StatisticRegister(at), 8),
                card.nic.ReadRegister(StatisticRegister(at), 8))
          << kStatisticNames[at];
    }
    for (uint32_t queue = 0; queue < kQueues; ++queue) {
      const uint32_t status = QueuePage(queue) + kLinkBlock + kLinkStatus;
      ASSERT_EQ(cpu.nic.ReadRegister(status, 4), card.nic.ReadRegister(status, 4));
    }
  }

  LinkSide<ipu::IpuNic> cpu{ipu::IpuConfig{.endpoints = 0}};
  LinkSide<IpuCardNic> card;
  uint64_t operations = 0;

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool OneIn(uint32_t times) { return Below(times) == 0; }
  template <typename F>
  void Both(F f) {
    f(cpu);
    f(card);
    ++operations;
  }

  void Program() {
    Both([](auto& side) {
      side.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous);
      side.nic.WriteRegister(kMaxFrame, 4, kMaxFrameBytes);
      for (uint32_t at = 0; at < kRssKeyBytes; at += 4) {
        side.nic.WriteRegister(kRssKey + at, 4, 0x6d5a'6d5a);
      }
      for (uint32_t at = 0; at < kRetaEntries; at += 4) {
        side.nic.WriteRegister(kReta + at, 4, 0x0100'0100);
      }
      side.nic.WriteRegister(kRssFields, 4, kRssIpv4Udp);
    });
  }

  void Format(uint32_t queue) {
    const swap::Geometry geometry{3 + Below(6), 4096u << Below(4), 16 * (1 + Below(8)),
                                  64 * Below(3)};
    Both([&](auto& side) { side.Format(queue, geometry); });
    disabled_[queue] = false;
  }

  void FillRandomly(std::string* bytes) {
    for (size_t at = 0; at < bytes->size(); at += sizeof(uint64_t)) {
      const uint64_t word = random_();
      std::memcpy(bytes->data() + at, &word, std::min(sizeof(word), bytes->size() - at));
    }
  }

  std::string Frame(uint32_t most) {
    std::string frame(60 + Below(OneIn(3) ? most - 59 : 70), '\0');
    FillRandomly(&frame);
    static constexpr char kHeader[] = {8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17};
    std::memcpy(frame.data() + 12, kHeader, sizeof(kHeader));
    // The tag has the generator's value, so that the card's write does not change the frame.
    char* const tag = frame.data() + frame.size() - 16;
    for (uint32_t i = 0; i < 4; ++i) tag[4 + i] = static_cast<char>(~tag[i]);
    return frame;
  }

  void Receive() {
    // If there is no room for a whole burst, the CPU's model answers a waiting offer in the middle
    // of the burst. Short bursts always have room, because an offer waits only if all regions are
    // empty.
    Settle();
    bool waits = false;
    for (auto& link : cpu.links) waits |= !link->holding();
    std::vector<std::string> frames(waits ? 1 + Below(2) : 1 + Below(60));
    std::vector<WireFrame> wire;
    for (std::string& frame : frames) {
      frame = Frame(waits ? 1000 : OneIn(30) ? 9000 : 1600);
      wire.push_back(
          {reinterpret_cast<const uint8_t*>(frame.data()), static_cast<uint32_t>(frame.size())});
    }
    const bool pause = OneIn(2);
    EXPECT_EQ(cpu.nic.Receive(wire, pause), card.nic.Receive(wire, pause));
    operations += frames.size();
  }

  void Give(uint32_t queue) {
    if (!cpu.Link(queue).holding() || !card.Link(queue).holding()) return;
    const swap::Geometry& geometry = cpu.Link(queue).geometry();
    const uint32_t count = OneIn(3) ? 0 : Below(geometry.max_frames + 1);
    std::string data(geometry.region_bytes - geometry.DataOffset(), '\0');
    FillRandomly(&data);
    std::vector<swap::Entry> entries(count);
    for (swap::Entry& entry : entries) {
      const uint32_t length = 14 + Below(OneIn(4) ? 3000 : 100);
      const uint32_t at = geometry.DataOffset() + Below(static_cast<uint32_t>(data.size()));
      entry = OneIn(30)   ? static_cast<swap::Entry>(random_())
              : OneIn(30) ? 0
                          : swap::MakeEntry(OneIn(2) ? at / 64 * 64 : at, length);
    }
    const bool waits = OneIn(2);
    Both([&](auto& side) {
      const swap::Region region = side.Link(queue).region();
      std::memcpy(region.base + geometry.DataOffset(), data.data(), data.size());
      std::copy(entries.begin(), entries.end(), region.entries());
      side.Link(queue).Give(count, waits);
    });
    operations += count;
  }

  void OfferWrong(uint32_t queue) {
    // Without frames that wait, one frame and all frames of a pass are the same.
    Settle();
    if (disabled_[queue] || !cpu.Link(queue).holding() || !card.Link(queue).holding()) return;
    const uint32_t other = 1 + Below(2);
    const bool beyond = OneIn(2);
    Both([&](auto& side) {
      const uint32_t regions = side.Link(queue).geometry().regions;
      side.OfferWrong(queue, beyond ? regions : (side.Link(queue).region().id + other) % regions);
      side.nic.Transmit(side.sink, 1);
    });
    Format(queue);
  }

  std::mt19937_64 random_;
  std::array<bool, kQueues> disabled_{};
};

TEST(IpuCardLinks, AllThatTheHostSeesIsThatOfTheCpusModel) {
  std::array<uint64_t, kStatisticCount> counted{};
  uint64_t operations = 0;
  for (uint32_t seed = 1; seed <= 80; ++seed) {
    Links links(seed);
    for (uint32_t step = 0; step < 1000; ++step) {
      links.Step();
      links.Compare();
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", step " << step;
    }
    const auto counters = links.card.nic.Counters();
    for (uint32_t i = 0; i < kStatisticCount; ++i) counted[i] += counters[i].value;
    operations += links.operations;
  }
  for (const Statistic seen : {kStatRxFrames, kStatRxNoRegion, kStatRxOversize, kStatRxDisabled,
                               kStatTxFrames, kStatLinkSwaps, kStatLinkBadEntry, kStatLinkFaults}) {
    EXPECT_GT(counted[seen], 20u) << kStatisticNames[seen];
  }
  EXPECT_GT(operations, 1'000'000u);
}

}  // namespace
}  // namespace sluice::device::grid
