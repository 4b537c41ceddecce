// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the receive and transmit paths with simple reference implementations (plain_nic.h). Two
// hosts perform the same random actions; after every step, all state visible to software or on the
// wire must be equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "device/enso/steering.h"
#include "host.h"
#include "plain_nic.h"

namespace sluice::device::enso {
namespace {

constexpr uint32_t kPipes = 8;
constexpr uint32_t kBuffers = 2;

struct Case {
  const char* name;
  EnsoConfig config;
  uint64_t frames;  ///< Minimum number of frames that must reach a pipe.
  bool faults;      ///< The run also disables pipes and buffers, so the engine wedges eventually.
};
std::ostream& operator<<(std::ostream& out, const Case& which) { return out << which.name; }

class Lockstep : public testing::TestWithParam<Case> {
 protected:
  Lockstep() : fast_(GetParam().config), plain_(GetParam().config, &MakePlainNic) {
    for (Host* host : {&fast_, &plain_}) {
      for (uint32_t i = 0; i < kBuffers; ++i) host->OpenNb(i);
      for (uint32_t i = 0; i < kPipes; ++i) host->OpenPipe(i, i % kBuffers);
      source_ = host->Allocate(kSourceFlits * kFlitBytes);
      host->Fallback(kPipes, kPipes - 1, 0);
    }
  }

  uint32_t Below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }
  bool Rarely() { return Below(64) == 0; }

  void Store(uint32_t offset, uint32_t value) {
    fast_.Write32(offset, value);
    plain_.Write32(offset, value);
  }
  template <typename Command>
  void Configure(const Command& command) {
    fast_.Configure(command, 0);
    plain_.Configure(command, 0);
  }

  void Step() {
    const uint32_t pipe = Below(kPipes);
    const uint32_t nb = Below(kBuffers);
    switch (Below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      // The host frees all flits or a random number of flits. Rarely, it stores an arbitrary head.
      case 4: {
        const uint32_t tail = fast_.Tail(pipe), head = fast_.Read32(PipePage(pipe) + kRxHead);
        const uint32_t mask = GetParam().config.pipe_flits - 1;
        const uint32_t some = head + Below(((tail - head) & mask) + 1);
        Store(PipePage(pipe) + kRxHead, Rarely() ? Below(2 * mask) : Below(2) ? tail : some & mask);
        break;
      }
      case 5:
        Store(NbPage(nb) + kRxHead, Rarely() ? Below(40) : fast_.Read32(NbPage(nb) + kRxTail));
        break;
      case 6:
        if (Rarely()) Change();
        break;
      case 7:
        if (GetParam().faults && Rarely()) Fault(pipe, nb);
        break;
      case 8:
        now_ns_ += Below(200);
        fast_.nic->SetTime(now_ns_);
        plain_.nic->SetTime(now_ns_);
        break;
      case 9:
      case 10:
        Post(nb);
        break;
      case 11:
      case 12:
        Transmit();
        break;
      default:
        Receive();
        break;
    }
  }

  /// Posts slots, with one tail store or several. The frames in the slots start and end at
  /// arbitrary positions.
  void Post(uint32_t nb) {
    static constexpr uint16_t kTotalLengths[] = {46, 46, 46, 46, 50, 51, 0, 100, 498, 1500};
    const bool liar = GetParam().faults && Rarely();
    Bytes bytes(kSourceFlits * kFlitBytes);
    for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
      const uint64_t word = random_();
      std::memcpy(&bytes[at], &word, sizeof(word));
    }
    for (size_t at = 0; at < bytes.size(); at += kFlitBytes) {
      PutBe16(bytes, at + 16, liar ? 0xffff : kTotalLengths[Below(std::size(kTotalLengths))]);
    }
    for (Host* host : {&fast_, &plain_}) {
      std::memcpy(host->At(source_), bytes.data(), bytes.size());
    }
    for (uint32_t n = 1 + Below(3); n != 0; --n) {
      const uint32_t first = Below(kSourceFlits);
      const uint32_t flits = 1 + Below(Below(2) ? 4 : kSourceFlits - first);
      uint64_t length = std::min(flits, kSourceFlits - first) * kFlitBytes;
      if (Rarely()) length -= 1 + Below(kFlitBytes - 1);
      if (GetParam().faults && Rarely() && Rarely()) length = 0;
      const uint64_t bus = Rarely() ? 0xdead'0000'0000 : source_ + first * kFlitBytes;
      for (Host* host : {&fast_, &plain_}) host->PutData(nb, bus, length);
      if (Below(2)) StoreTail(nb);
    }
    StoreTail(nb);
  }
  void StoreTail(uint32_t nb) {
    for (Host* host : {&fast_, &plain_}) host->StoreTxTail(nb);
  }

  void Transmit() {
    const uint32_t budget = Below(4) == 0 ? 1 + Below(20) : 1000;
    ASSERT_EQ(fast_.Transmit(budget), plain_.Transmit(budget));
    ASSERT_EQ(fast_.wire.frames, plain_.wire.frames);
    sent_ += fast_.wire.frames.size();
    for (Host* host : {&fast_, &plain_}) host->wire.frames.clear();
  }

  /// Changes steering and timestamps.
  void Change() {
    const uint64_t config = kSignalConfig;
    const auto id = [](ConfigId command) { return static_cast<uint64_t>(command); };
    switch (Below(5)) {
      case 4:
        Configure(RateLimitConfig{config,
                                  id(ConfigId::kRateLimit),
                                  static_cast<uint16_t>(1 + Below(8)),
                                  static_cast<uint16_t>(1 + Below(8)),
                                  Below(2) ? kEnable32 : 0,
                                  {}});
        break;
      case 0:
        Configure(FlowEntryConfig{config,
                                  id(ConfigId::kFlowEntry),
                                  Port(),
                                  Port(),
                                  kDst + Below(4),
                                  Below(2) ? kSrc + Below(4) : 0,
                                  17,
                                  Below(4) == 0 ? kUnbind : Below(kPipes),
                                  {}});
        break;
      case 1:
        Configure(TimestampConfig{
            config, id(ConfigId::kTimestamp), Below(3) == 0 ? kEnable64 : 0, 20 + Below(30), {}});
        break;
      default: {
        const uint32_t count = Below(8) == 0 ? 0 : 1u << Below(4);
        Configure(FallbackConfig{config,
                                 id(ConfigId::kFallback),
                                 count,
                                 count == 0 ? 0 : count - 1,
                                 Below(4) == 0 ? kEnable64 : 0,
                                 {}});
      }
    }
  }

  void Fault(uint32_t pipe, uint32_t nb) {
    const uint32_t page = Below(4) == 0 ? NbPage(nb) : PipePage(pipe);
    const uint32_t base = fast_.Read32(page + kRxMemLo);
    switch (Below(3)) {
      case 0:
        Store(page + kRxMemLo, 0);
        Store(page + kRxMemHi, 0);
        break;
      case 1:
        Store(page + kRxTail, Below(300));
        break;
      default:
        Store(page + kRxMemLo, base + 4096);
        break;
    }
  }

  uint16_t Port() { return static_cast<uint16_t>(1000 + Below(4)); }

  void Receive() {
    static constexpr uint32_t kLengths[] = {60, 60, 60, 60, 64, 65, 128, 1514};
    static constexpr uint8_t kProtocols[] = {17, 17, 6, 1};
    std::vector<Bytes> frames;
    for (uint32_t n = Below(71); n != 0; --n) {
      const uint32_t length = Rarely() ? 48 + Below(1600) : kLengths[Below(8)];
      frames.push_back(MakeFrame(length,
                                 {.protocol = kProtocols[Below(4)],
                                  .dst_ip = kDst + Below(4),
                                  .src_ip = kSrc + Below(4),
                                  .dst_port = Port(),
                                  .src_port = Port(),
                                  .tcp_flags = static_cast<uint8_t>(Below(4))},
                                 static_cast<uint8_t>(random_())));
      if (Rarely()) frames.back().resize(Below(48));
    }
    const bool pause = Below(4) == 0;
    ASSERT_EQ(fast_.ReceiveAll(frames, pause), plain_.ReceiveAll(frames, pause));
    received_ += frames.size();
  }

  void Compare() {
    const auto fast = fast_.nic->Counters(), plain = plain_.nic->Counters();
    for (size_t i = 0; i < fast.size(); ++i) {
      ASSERT_EQ(fast[i].value, plain[i].value) << fast[i].name;
    }
    for (uint32_t i = 0; i < kPipes + kBuffers; ++i) {
      const uint32_t page = i < kPipes ? PipePage(i) : NbPage(i - kPipes);
      for (uint32_t at = 0; at < kFlitBytes; at += 4) {
        ASSERT_EQ(fast_.Read32(page + at), plain_.Read32(page + at)) << "page " << i << " " << at;
      }
    }
  }
  void CompareMemory() {
    ASSERT_EQ(fast_.allocated(), plain_.allocated());
    ASSERT_EQ(std::memcmp(fast_.At(Host::kBus), plain_.At(Host::kBus), fast_.allocated()), 0);
  }

  static constexpr uint32_t kSourceFlits = 300;

  Host fast_, plain_;
  uint64_t source_ = 0;  ///< Bus address of the data to send.
  std::mt19937_64 random_{7};
  uint64_t now_ns_ = 0;
  uint64_t received_ = 0;
  uint64_t sent_ = 0;
};

TEST_P(Lockstep, NothingThatCanBeSeenDiffers) {
  for (uint32_t step = 0; step < 14'000 && !HasFatalFailure(); ++step) {
    SCOPED_TRACE(step);
    Step();
    Compare();
    if (step % 64 == 0) CompareMemory();
  }
  CompareMemory();
  EXPECT_GT(fast_.Count("rx_frames"), GetParam().frames);
  EXPECT_GT(sent_, GetParam().frames / 4);
  EXPECT_EQ(fast_.Count("wedged"), GetParam().faults ? 1u : 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, Lockstep,
    testing::Values(Case{"reactive", {.pipe_flits = 256, .nb_entries = 32}, 30'000, false},
                    Case{"small", {.pipe_flits = 32, .nb_entries = 4}, 9'000, false},
                    Case{"per_packet",
                         {.pipe_flits = 64, .nb_entries = 64, .notify_per_packet = true},
                         12'000,
                         false},
                    Case{"faults", {.pipe_flits = 64, .nb_entries = 32}, 500, true}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(SteeringOfLanes, IsThatOfOneFrame) {
  std::mt19937_64 random(11);
  Clock clock;
  Steering steering(clock);
  for (uint32_t round = 0; round < 2'000; ++round) {
    if (round % 3 == 0) {
      steering.InsertFlow({.dst_ip = kDst + static_cast<uint32_t>(random() % 4),
                           .src_ip = random() % 2 ? kSrc : 0,
                           .dst_port = static_cast<uint16_t>(random() % 4),
                           .src_port = static_cast<uint16_t>(random() % 2)},
                          static_cast<uint32_t>(random() % 16));
    }
    if (round % 50 == 0) steering.SetFallback(8, round % 100 == 0 ? 7 : 0, false);
    std::vector<Bytes> frames;
    std::vector<WireFrame> wire;
    for (uint32_t i = 0; i < Steering::kLanes; ++i) {
      Bytes frame = MakeFrame(60);
      for (uint32_t at = 20; at < 48; ++at) {
        if (random() % 4 == 0) frame[at] = static_cast<uint8_t>(random());
      }
      frame[23] = random() % 2 ? 6 : 17;
      frames.push_back(std::move(frame));
    }
    for (const Bytes& frame : frames) wire.push_back({frame.data(), 60});
    std::array<uint32_t, Steering::kLanes> pipes;
    steering.Targets(wire, pipes.data());
    for (uint32_t i = 0; i < Steering::kLanes; ++i) {
      EXPECT_EQ(pipes[i], steering.Target(wire[i].data, 60));
    }
  }
}

}  // namespace
}  // namespace sluice::device::enso
