// SPDX-License-Identifier: BSD-3-Clause
//
// Compares endpoints on a card with those of the CPU's model, with random frames, answers, register
// stores and hostile stores. Both hosts perform the same operations; all state visible to them must
// be equal. Received frames never wait in the card, because the wire of both models stops when the
// CPU's model has no room.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "bar/dma.h"
#include "coherent/frame_host.h"
#include "device/ipu/ipu_nic.h"
#include "host.h"
#include "ipu_card_nic.h"

namespace sluice::device::grid::lines {
namespace {

using namespace regs::ipu;  // NOLINT: the registers of this device
using coherent::Pair;

struct Frame {
  uint8_t* data;
  uint32_t length, headroom, tailroom;
};

constexpr uint64_t kBus = 0x4000'0000;
constexpr uint32_t kQueues = 2;
constexpr uint32_t kStride = 256 << 10;
constexpr uint32_t kBytes = kQueues * kStride;

/// A device and its host.
template <typename Nic>
class Side {
 public:
  template <typename... Config>
  explicit Side(Config... config)
      : memory_(new (std::align_val_t{4096}) uint8_t[kBytes]()), nic(dma_, config...) {
    dma_.Add(kBus, memory_.get(), kBytes);
    nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous);
    nic.WriteRegister(kMaxFrame, 4, kMaxFrameBytes);
  }

  std::span<uint8_t> Memory(uint32_t queue) { return {memory_.get() + queue * kStride, kStride}; }
  void Write(uint32_t queue, uint32_t reg, uint64_t value, uint32_t bytes) {
    nic.WriteRegister(QueuePage(queue) + kEndpointBlock + reg, bytes, value);
  }
  void Format(uint32_t queue, const coherent::Geometry& geometry) {
    std::memset(Memory(queue).data(), 0, kStride);
    ends[queue].emplace(coherent::EndpointMemory::Format(Memory(queue), geometry));
    held[queue] = 0;
  }
  void Enable(uint32_t queue, uint64_t bytes) {
    Write(queue, kEndpointBase, kBus + queue * kStride, 8);
    Write(queue, kEndpointBytes, bytes, 8);
    Write(queue, kEndpointControl, kEndpointEnable, 4);
  }
  bool Receive(const std::string& frame) {
    const WireFrame wire{reinterpret_cast<const uint8_t*>(frame.data()),
                         static_cast<uint32_t>(frame.size())};
    return nic.Receive({&wire, 1}, true) == 1;
  }
  void Step(uint64_t now_ns) {
    nic.SetTime(now_ns);
    while (nic.Transmit(sink, 1000) != 0) {
    }
  }

  /// Polls an endpoint unless it still holds unanswered frames. Returns the bytes of the frames
  /// that it holds.
  std::string Wait(uint32_t queue) {
    if (held[queue] == 0) held[queue] = ends[queue]->Wait(frames[queue].data());
    std::string bytes;
    for (uint32_t i = 0; i < held[queue]; ++i) {
      const Frame& frame = frames[queue][i];
      bytes.append(reinterpret_cast<const char*>(frame.data), frame.length);
      bytes += std::to_string(frame.length) + "/" + std::to_string(frame.headroom) + " ";
    }
    return bytes;
  }

  /// Changes each frame at random, and answers.
  void Answer(uint32_t queue, std::mt19937 random) {
    coherent::FrameHost& end = *ends[queue];
    for (uint32_t i = 0; i < held[queue]; ++i) {
      Frame& frame = frames[queue][i];
      uint8_t* grown;
      switch (random() % 12) {
        case 0:
          frame.length = 0;
          break;
        case 1:
          frame.length = 14 + random() % (frame.length - 13);
          break;
        case 2: {
          const uint32_t more = random() % (frame.headroom + 1);
          frame.data -= more;
          frame.length += more;
          for (uint32_t at = 0; at < more; ++at) frame.data[at] = static_cast<uint8_t>(at);
          break;
        }
        case 3: {
          const uint32_t length = frame.length + 200 + random() % 500;
          if ((grown = end.GrownRoom(length)) == nullptr) break;
          std::memset(grown, static_cast<int>(length), length);
          end.CommitGrown(length);
          frame.data = grown;
          frame.length = length;
          break;
        }
        default:
          break;
      }
    }
    end.Answer(frames[queue].data(), held[queue]);
    held[queue] = 0;
  }

  void SendOwn(uint32_t queue, std::mt19937 random) {
    const bool equal = random() % 2 == 0;
    for (uint32_t i = random() % 30; i != 0; --i) {
      const uint32_t length = equal ? 100 : 14 + random() % 1500;
      uint8_t* const to = ends[queue]->Room(length);
      if (to == nullptr) break;
      std::memset(to, static_cast<int>(random()), length);
      ends[queue]->Send(length);
    }
    if (random() % 2 == 0) ends[queue]->Flush();
  }

  /// Stores a value that the protocol does not allow.
  void Lie(uint32_t queue, std::mt19937 random) {
    const auto memory = coherent::EndpointMemory::Find(Memory(queue));
    if (!memory) return;
    const Pair pair = random() % 2 == 0 ? Pair::kReceive : Pair::kTransmit;
    coherent::EndpointHeader::HostWord& word = memory.host(pair);
    uint8_t* const line = reinterpret_cast<uint8_t*>(&memory.line(pair, random()));
    uint64_t value = uint64_t{random()} << 32 | random();
    switch (random() % 8) {
      case 0:
        word.load += random() % 4;
        break;
      case 1:
        if (random() % 4 == 0) word.load = value;
        break;
      case 2:
        word.busy = random() % 2;
        break;
      case 3:
        if (random() % 4 == 0 && memory.header().ready != coherent::kClosed) {
          memory.header().ready = random() % 4;
        }
        break;
      case 4: {  // A control word: its payload may end anywhere.
        const coherent::Control control = {
            static_cast<uint32_t>(memory.host(pair).load), static_cast<uint32_t>(random() % 9000),
            static_cast<uint8_t>(random() % 128), random() % 8 == 0,
            static_cast<coherent::Kind>(random() % coherent::kKinds)};
        value = control.Word();
        std::memcpy(line, &value, sizeof(value));
        ++word.load;
        break;
      }
      default: {  // The head of a record.
        const auto stride = static_cast<uint16_t>(72 + random() % 3 * 4);
        if (random() % 2 == 0) {
          value = coherent::Record{.stride = stride,
                                   .offset = static_cast<uint16_t>(random() % 12),
                                   .length = static_cast<uint16_t>(random() % 70),
                                   .flags = static_cast<uint16_t>(random() % 1200)}
                      .Word();
        }
        std::memcpy(line + 24 + random() % 40 * 8, &value, sizeof(value));
        break;
      }
    }
  }

  /// Removes the memory of all endpoints, and restores it.
  void TakeMemory() {
    dma_.Remove(kBus);
    if constexpr (!std::is_same_v<Nic, IpuCardNic>) nic.MemoryTaken();
    dma_.Add(kBus, memory_.get(), kBytes);
  }

  std::array<std::optional<coherent::FrameHost>, kQueues> ends;
  std::array<std::array<Frame, coherent::FrameHost::kMaxFrames>, kQueues> frames{};
  std::array<uint32_t, kQueues> held{};
  ipu::test::RecordingSink sink;

 private:
  struct Free {
    void operator()(uint8_t* at) const { operator delete[](at, std::align_val_t{4096}); }
  };

  std::unique_ptr<uint8_t[], Free> memory_;
  bar::DmaSpace dma_;

 public:
  Nic nic;
};

class Endpoints {
 public:
  explicit Endpoints(uint32_t seed) : random_(seed), spare_(seed % 2 == 0) {
    for (uint32_t queue = 0; queue < kQueues; ++queue) Restart(queue);
  }

  void Step() {
    const uint32_t queue = Below(kQueues);
    const std::mt19937 same(static_cast<uint32_t>(random_()));
    const uint32_t what = Below(100);
    now_ns_ += Below(10) == 0 ? 4'000'000 : Below(1000);
    if (what < 40) {
      Receive(queue);
    } else if (what < 75) {
      const std::string frames = cpu_.Wait(queue);
      EXPECT_TRUE(frames == card_.Wait(queue));
      if (!frames.empty() && Below(4) != 0) Both([&](auto& side) { side.Answer(queue, same); });
    } else if (what < 85) {
      Both([&](auto& side) { side.SendOwn(queue, same); });
    } else if (what < 93) {
      if (!spare_) Both([&](auto& side) { side.Lie(queue, same); });
    } else if (what < 96) {
      Restart(queue);
    } else if (what < 98) {
      const uint32_t control = Below(2) * kEndpointEnable;
      Both([&](auto& side) { side.Write(queue, kEndpointControl, control, 4); });
    } else if (Below(8) == 0) {
      Both([&](auto& side) { side.nic.HostDied(side.sink); });
    } else if (Below(8) == 0) {
      Both([&](auto& side) { side.TakeMemory(); });
    }
    Both([&](auto& side) { side.Step(now_ns_); });
  }

  void Compare() {
    EXPECT_TRUE(cpu_.sink.frames == card_.sink.frames)
        << cpu_.sink.frames.size() << " " << card_.sink.frames.size();
    cpu_.sink.frames.clear();
    card_.sink.frames.clear();
    for (uint32_t at = 0; at < kStatisticCount; ++at) Same(StatisticRegister(at), 8);
    for (uint32_t queue = 0; queue < kQueues; ++queue) {
      Same(QueuePage(queue) + kEndpointBlock + kEndpointStatus, 4);
      const auto expected = coherent::EndpointMemory::Find(cpu_.Memory(queue));
      const auto memory = coherent::EndpointMemory::Find(card_.Memory(queue));
      ASSERT_EQ(static_cast<bool>(expected), static_cast<bool>(memory));
      if (!memory) continue;
      EXPECT_EQ(expected.header().ready, memory.header().ready);
      for (const Pair pair : {Pair::kReceive, Pair::kTransmit}) {
        EXPECT_EQ(expected.host(pair).load, memory.host(pair).load);
        // The CPU's model writes frames to a closed endpoint until it is disabled.
        const bool whole = !spare_ && memory.header().ready != coherent::kClosed;
        for (const uint64_t line : {0, 1}) {
          EXPECT_EQ(expected.line(pair, line).control, memory.line(pair, line).control)
              << "queue " << queue << ", pair " << static_cast<int>(pair) << ", line " << line;
          EXPECT_TRUE(!whole || std::ranges::equal(expected.Room(pair, line, false),
                                                   memory.Room(pair, line, false)))
              << "queue " << queue << ", pair " << static_cast<int>(pair) << ", line " << line;
        }
      }
    }
  }
  uint64_t Counted(uint32_t statistic) {
    return card_.nic.ReadRegister(StatisticRegister(statistic), 8);
  }

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  template <typename F>
  void Both(F f) {
    f(cpu_);
    f(card_);
  }
  void Same(uint32_t offset, uint32_t bytes) {
    const uint64_t expected = cpu_.nic.ReadRegister(offset, bytes),
                   value = card_.nic.ReadRegister(offset, bytes);
    EXPECT_EQ(expected, value) << std::hex << offset << " "
                               << (offset >= kStatistics && offset < kPageBytes
                                       ? kStatisticNames[(offset - kStatistics) / 8]
                                       : "");
  }

  void Restart(uint32_t queue) {
    static constexpr uint32_t kLines[] = {4, 16, 64, 76, 200, 400};
    coherent::Geometry geometry{.overflow_lines = kLines[Below(6)],
                                .headroom_bytes = spare_ ? 8 * Below(9) : 0};
    if (Below(20) == 0) geometry.overflow_lines = 0;
    const uint64_t bytes = Below(20) == 0 ? geometry.Bytes() - 1 : kStride;
    Both([&](auto& side) {
      side.Write(queue, kEndpointControl, 0, 4);
      side.Format(queue, geometry);
      side.Enable(queue, bytes);
    });
  }

  void Receive(uint32_t queue) {
    Both([&](auto& side) { side.nic.WriteRegister(kReta, 4, queue); });
    const bool equal = Below(2) == 0;
    for (uint32_t i = Below(4) == 0 ? Below(200) : 1; i != 0; --i) {
      uint32_t length = equal ? 60 : 14 + Below(Below(8) == 0 ? 9715 : 1500);
      if (!spare_) length = (length + 7) / 8 * 8;
      std::string frame(length, '\0');
      for (char& byte : frame) byte = static_cast<char>(random_());
      frame[12] = frame[13] = '\x01';  // Neither tagged nor IP.
      if (!cpu_.Receive(frame)) break;
      EXPECT_TRUE(card_.Receive(frame));
    }
  }

  Side<ipu::IpuNic> cpu_{ipu::IpuConfig{}};
  Side<IpuCardNic> card_;
  std::mt19937 random_;
  /// Whether records have headroom and padding. If so, hosts do not lie, because a lie may turn
  /// these bytes, which differ between the devices, into frame bytes.
  const bool spare_;
  uint64_t now_ns_ = 0;
};

TEST(IpuCardEndpoints, AllThatTheHostSeesIsThatOfTheCpusModel) {
  std::array<uint64_t, kStatisticCount> counted{};
  for (uint32_t seed = 1; seed <= 24; ++seed) {
    Endpoints endpoints(seed);
    for (uint32_t step = 0; step < 300; ++step) {
      endpoints.Step();
      endpoints.Compare();
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", step " << step;
    }
    for (uint32_t at = 0; at < kStatisticCount; ++at) counted[at] += endpoints.Counted(at);
  }
  for (const Statistic seen :
       {kStatRxFrames, kStatTxFrames, kStatRxOversize, kStatRxDisabled, kStatLineAnswers,
        kStatLineTryAgains, kStatLineFaults, kStatLineBadRecord, kStatLineOrphans,
        kStatLineRxDiscards, kStatLineLost}) {
    EXPECT_GT(counted[seen], 0u) << kStatisticNames[seen];
  }
}

}  // namespace
}  // namespace sluice::device::grid::lines
