// SPDX-License-Identifier: BSD-3-Clause
//
// Tests cache-line endpoints, which replace rings: registers, frames in lines, timeouts, and hosts
// that violate the protocol.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coherent/frame_host.h"
#include "host.h"

namespace sluice::device::ipu::test {
namespace {

using Frames = std::vector<std::string>;

/// A small endpoint: Lauberhorn's machine has 76 overflow lines (coherent/layout.h), but 64 lines
/// (8 KiB) are filled sooner.
constexpr coherent::Geometry kSmall{.overflow_lines = 64};

struct Frame {
  uint8_t* data;
  uint32_t length, headroom, tailroom;
};

class EndpointHost : public Host {
 public:
  static constexpr uint32_t kStride = 256 << 10;
  /// The endpoint of queue pair q is q strides lower, so an overrun of endpoint 0 is outside the
  /// allocation.
  static constexpr uint32_t kOffset = kBytes - kStride;

  std::span<uint8_t> Memory(uint32_t queue = 0) { return {At(kOffset - queue * kStride), kStride}; }
  uint64_t WriteEndpoint(uint32_t queue, uint32_t reg, uint64_t value, uint32_t bytes = 4) {
    nic.WriteRegister(QueuePage(queue) + kEndpointBlock + reg, bytes, value);
    return nic.ReadRegister(QueuePage(queue) + kEndpointBlock + kEndpointStatus, 4);
  }
  /// Sets the endpoint's address in the device and enables it. Returns the endpoint's status.
  uint64_t Enable(uint32_t queue = 0) {
    WriteEndpoint(queue, kEndpointBase, kBus + kOffset - queue * kStride, 8);
    WriteEndpoint(queue, kEndpointBytes, kStride, 8);
    return WriteEndpoint(queue, kEndpointControl, kEndpointEnable);
  }
  coherent::EndpointMemory Format(const coherent::Geometry& geometry, uint32_t queue = 0) {
    return coherent::EndpointMemory::Format(Memory(queue), geometry);
  }
  /// Formats the endpoint, enables it, and loads its first line.
  void Start(const coherent::Geometry& geometry = kSmall) {
    end.emplace(Format(geometry));
    ASSERT_EQ(Enable(), 1u);
    ASSERT_EQ(end->Wait(frames), 0u);
    Step();
  }
  void Step() { nic.Transmit(sink, 64); }
  void After(uint64_t ns) { nic.SetTime(now_ns += ns); }

  /// Polls the endpoint once. Returns the received frames.
  Frames Wait() {
    held = end->Wait(frames);
    Frames came;
    for (uint32_t i = 0; i < held; ++i) {
      came.emplace_back(reinterpret_cast<char*>(frames[i].data), frames[i].length);
    }
    return came;
  }
  /// Returns the held frames to the device, as described by `frames`.
  void Answer() {
    end->Answer(frames, held);
    Step();
  }

  std::optional<coherent::FrameHost> end;
  Frame frames[coherent::FrameHost::kMaxFrames];
  uint32_t held = 0;
  uint64_t now_ns = 0;
  RecordingSink sink;
};

TEST(IpuEndpoint, TheDeviceSaysWhetherItOffersAny) {
  const struct {
    IpuConfig config;
    uint64_t offered;
  } kCases[] = {{{}, 16},
                {{.queue_pairs = 4}, 4},
                {{.queue_pairs = 4, .endpoints = 2}, 2},
                {{.endpoints = 0}, 0}};
  const auto nothing = std::make_unique<bar::DmaSpace>();
  for (const auto& [config, offered] : kCases) {
    IpuNic nic(*nothing, config);
    EXPECT_EQ(nic.ReadRegister(kEndpoints, 4), offered);
    nic.WriteRegister(kEndpoints, 4, 7);
    EXPECT_EQ(nic.ReadRegister(kEndpoints, 4), offered) << "read only";
  }
}

TEST(IpuEndpoint, ADeviceThatOffersNoneEnablesNone) {
  auto host = std::make_unique<EndpointHost>();
  host->Format(kSmall);
  IpuNic without(host->dma, {.endpoints = 0});
  const auto write = [&](uint32_t reg, uint64_t value, uint32_t bytes) {
    without.WriteRegister(QueuePage(0) + kEndpointBlock + reg, bytes, value);
  };
  write(kEndpointBase, Host::kBus + EndpointHost::kOffset, 8);
  write(kEndpointBytes, EndpointHost::kStride, 8);
  write(kEndpointControl, kEndpointEnable, 4);
  EXPECT_EQ(without.ReadRegister(QueuePage(0) + kEndpointBlock + kEndpointStatus, 4), 0u);
}

TEST(IpuEndpoint, OneIsEnabledOnceSoundMemoryIsNamed) {
  auto host = std::make_unique<EndpointHost>();
  EXPECT_EQ(host->Enable(), 0u) << "never laid out";
  host->Format(kSmall);
  host->WriteEndpoint(0, kEndpointBytes, kSmall.Bytes() - 1, 8);
  EXPECT_EQ(host->WriteEndpoint(0, kEndpointControl, kEndpointEnable), 0u) << "a byte short";
  host->WriteEndpoint(0, kEndpointBytes, ~uint64_t{0}, 8);
  EXPECT_EQ(host->WriteEndpoint(0, kEndpointControl, kEndpointEnable), 0u) << "not mapped";
  host->WriteEndpoint(0, kEndpointBytes, EndpointHost::kStride, 8);
  host->WriteEndpoint(0, kEndpointBase, Host::kBus + EndpointHost::kOffset + 128, 8);
  EXPECT_EQ(host->WriteEndpoint(0, kEndpointControl, kEndpointEnable), 0u) << "not on a page";
  EXPECT_EQ(host->Stat(kStatLineFaults), 4u);
  EXPECT_EQ(host->Enable(), 1u);
  EXPECT_EQ(host->Stat(kStatLineFaults), 4u);
  EXPECT_EQ(host->WriteEndpoint(0, kEndpointControl, 0), 0u) << "disabled";
}

TEST(IpuEndpoint, WithoutMasteringItsMemoryStays) {
  auto host = std::make_unique<EndpointHost>();
  host->Start();
  EXPECT_EQ(host->Receive(PlainFrame(60, 1)), 1u);
  const auto memory = [&] { return std::string(host->Memory().begin(), host->Memory().end()); };
  const std::string before = memory();
  host->nic.SetMastering(false);
  EXPECT_EQ(host->WriteEndpoint(0, kEndpointControl, 0), 0u);
  EXPECT_EQ(host->Stat(kStatLineLost), 1u) << "what the host held of it";
  EXPECT_EQ(host->Stat(kStatLineFaults), 0u);
  EXPECT_EQ(host->Enable(), 0u);
  EXPECT_EQ(host->Stat(kStatLineFaults), 1u);
  host->nic.WriteRegister(kReset, 4, kResetMagic);
  EXPECT_EQ(memory(), before);
  host->nic.SetMastering(true);
  EXPECT_EQ(host->Enable(), 1u) << "it was not closed";
}

TEST(IpuEndpoint, AQueuePairHasRingsOrALinkOrAnEndpoint) {
  auto host = std::make_unique<EndpointHost>();
  host->Format(kSmall);
  host->StartRx(64, 2048, 0);
  EXPECT_EQ(host->Enable(), 0u) << "the RX ring is on";
  host->Write(0, kRxBlock, kRingControl, 0);
  host->StartTx(64);
  EXPECT_EQ(host->Enable(), 0u) << "the TX ring is on";
  host->Write(0, kTxBlock, kRingControl, 0);
  EXPECT_EQ(host->Enable(), 1u);
  host->StartRx(64, 2048, 0);
  host->StartTx(64);
  EXPECT_EQ(host->Read(0, kRxBlock, kRingStatus), 0u) << "the endpoint is on";
  EXPECT_EQ(host->Read(0, kTxBlock, kRingStatus), 0u) << "the endpoint is on";
  host->nic.WriteRegister(QueuePage(0) + kLinkBlock + kLinkControl, 4, kLinkEnable);
  EXPECT_EQ(host->nic.ReadRegister(QueuePage(0) + kLinkBlock + kLinkStatus, 4), 0u);
}

TEST(IpuEndpoint, FramesComeInTheLineThatIsLoadedAndLeaveWithTheNextLoad) {
  auto host = std::make_unique<EndpointHost>();
  host->Start();
  const Frames sent = {PlainFrame(60, 1), PlainFrame(1514, 2), PlainFrame(14, 3)};
  EXPECT_EQ(host->Receive(sent[0]), 1u);
  EXPECT_EQ(host->Wait(), Frames{sent[0]}) << "a load that waits is answered at once";
  EXPECT_EQ(host->Receive(sent[1]), 1u);
  EXPECT_EQ(host->Receive(sent[2]), 1u);
  EXPECT_TRUE(host->sink.frames.empty());
  host->Answer();
  EXPECT_EQ(host->sink.frames, Frames{sent[0]});
  EXPECT_EQ(host->Wait(), (Frames{sent[1], sent[2]})) << "filled while the host held the other";
  host->Answer();
  EXPECT_EQ(host->sink.frames, sent);
  EXPECT_EQ(host->Stat(kStatRxFrames), 3u);
  EXPECT_EQ(host->Stat(kStatRxBytes), 60u + 1514 + 14);
  EXPECT_EQ(host->Stat(kStatTxFrames), 3u);
  EXPECT_EQ(host->Stat(kStatTxBytes), 60u + 1514 + 14);
  EXPECT_EQ(host->Stat(kStatLineAnswers), 2u);
}

class IpuEndpointSize : public ::testing::TestWithParam<uint32_t> {};
TEST_P(IpuEndpointSize, EveryByteArrivesAndLeaves) {
  auto host = std::make_unique<EndpointHost>();
  host->Start({.overflow_lines = 80, .headroom_bytes = 64});
  const std::string frame = PlainFrame(GetParam(), 9);
  EXPECT_EQ(host->Receive(frame), 1u);
  ASSERT_EQ(host->Wait(), Frames{frame});
  EXPECT_EQ(host->frames[0].headroom, 64u);
  host->Answer();
  EXPECT_EQ(host->sink.frames, Frames{frame});
  EXPECT_TRUE(host->StayedInside());
}
INSTANTIATE_TEST_SUITE_P(Sizes, IpuEndpointSize,
                         ::testing::Values(14, 15, 63, 64, 65, 96, 104, 105, 232, 1514, 4096, 9727,
                                           9728));

TEST(IpuEndpoint, WhatTheHostMadeOfAFrameLeaves) {
  auto host = std::make_unique<EndpointHost>();
  host->Start({.overflow_lines = 64, .headroom_bytes = 64});
  for (uint8_t mark = 1; mark <= 4; ++mark) host->Receive(PlainFrame(100, mark));
  while (host->Wait().size() < 3) host->Answer();  // The first frame was alone in its line.
  ASSERT_EQ(host->held, 3u);
  host->sink.frames.clear();
  host->frames[0].length = 0;
  host->frames[1].length -= 30;
  host->frames[2].data -= 20;
  host->frames[2].length += 20;
  std::memset(host->frames[2].data, 7, 20);
  host->Answer();
  EXPECT_EQ(host->sink.frames,
            (Frames{PlainFrame(100, 3).substr(0, 70), std::string(20, 7) + PlainFrame(100, 4)}));
}

TEST(IpuEndpoint, FramesOfTheHostsOwnLeaveFromGrantedLines) {
  auto host = std::make_unique<EndpointHost>();
  host->Start();
  EXPECT_EQ(host->end->Room(60), nullptr) << "asks for a line";
  Frames own;
  for (uint32_t round = 0; round < 5; ++round) {
    host->Step();
    uint8_t* to;
    while ((to = host->end->Room(500)) != nullptr) {
      own.push_back(PlainFrame(500, static_cast<uint8_t>(own.size())));
      std::memcpy(to, own.back().data(), 500);
      host->end->Send(500);
    }
    host->end->Flush();
  }
  host->Step();
  EXPECT_GT(own.size(), 5u * 10);
  EXPECT_EQ(host->sink.frames, own);
  EXPECT_EQ(host->end->counters().grants, 5u);
}

TEST(IpuEndpoint, AHostThatDoesNotLoadStopsTheWireOrLosesFrames) {
  auto host = std::make_unique<EndpointHost>();
  host->Start();
  const std::string frame = PlainFrame(1514, 1);
  uint32_t taken = 0;
  while (host->Receive(frame, true) == 1) ++taken;
  // A line of 104 + 64 * 128 bytes has room for 5 records of 8 + 1520 bytes.
  EXPECT_EQ(taken, 1u + 5) << "one alone in the line that waited, then a line full";
  EXPECT_EQ(host->Receive(frame, false), 1u);
  EXPECT_EQ(host->Stat(kStatRxNoLine), 1u);
  EXPECT_EQ(host->Wait().size(), 1u);
  host->Answer();
  EXPECT_EQ(host->Wait().size(), 5u);
  EXPECT_EQ(host->Stat(kStatRxFrames), 6u);
}

TEST(IpuEndpoint, AFrameThatNoLineHoldsIsOversize) {
  auto host = std::make_unique<EndpointHost>();
  host->Start();  // A line holds 104 + 64 * 128 bytes; the record's head uses 8 of them.
  EXPECT_EQ(host->Receive(PlainFrame(8289, 1)), 1u);
  EXPECT_EQ(host->Stat(kStatRxOversize), 1u);
  EXPECT_EQ(host->Receive(PlainFrame(8288, 1)), 1u);
  EXPECT_EQ(host->Wait().size(), 1u);
}

TEST(IpuEndpoint, ALoadIsAnsweredTryAgainAfterFifteenMilliseconds) {
  auto host = std::make_unique<EndpointHost>();
  host->Start();
  host->After(14'999'999);
  host->Step();
  EXPECT_TRUE(host->Wait().empty());
  EXPECT_EQ(host->Stat(kStatLineTryAgains), 0u);
  host->After(1);
  host->Step();
  EXPECT_EQ(host->Stat(kStatLineTryAgains), 1u);
  EXPECT_TRUE(host->Wait().empty());
  EXPECT_EQ(host->end->counters().try_agains, 1u);
  EXPECT_TRUE(host->Wait().empty()) << "loads the other line";
  host->Step();
  host->Receive(PlainFrame(60, 5));
  EXPECT_EQ(host->Wait(), Frames{PlainFrame(60, 5)});
}

TEST(IpuEndpoint, AHostThatBreaksTheProtocolLosesItsEndpointAlone) {
  auto host = std::make_unique<EndpointHost>();
  host->Start();
  const auto memory = coherent::EndpointMemory::Find(host->Memory());
  memory.host(coherent::Pair::kReceive).load = 77;  // The load counter must grow by one each time.
  host->Step();
  EXPECT_EQ(host->Stat(kStatLineFaults), 1u);
  EXPECT_EQ(host->WriteEndpoint(0, kEndpointBytes, 0, 8), 0u) << "not enabled any more";
  EXPECT_EQ(host->Receive(PlainFrame(60, 1)), 1u);
  EXPECT_EQ(host->Stat(kStatRxDisabled), 1u);
}

TEST(IpuEndpoint, RecordsThatDescribeNoFrameAreCountedAndTheRestOfTheLineIsSkipped) {
  const uint64_t kLies[] = {
      0,  // No stride.
      // Not a multiple of 8 bytes.
      coherent::Record{.stride = 12, .offset = 8, .length = 0}.Word(),
      coherent::Record{.stride = 72, .offset = 8, .length = 65}.Word(),  // Beyond its record.
      // Overlaps the record's head.
      coherent::Record{.stride = 72, .offset = 4, .length = 60}.Word(),
      // Shorter than an Ethernet header.
      coherent::Record{.stride = 72, .offset = 8, .length = 13}.Word(),
      coherent::Record{.stride = 65528, .offset = 8, .length = 60}.Word()};  // Beyond the line.
  for (const uint64_t lie : kLies) {
    auto host = std::make_unique<EndpointHost>();
    host->Start();
    for (uint8_t mark = 1; mark <= 4; ++mark) host->Receive(PlainFrame(60, mark));
    host->Wait();
    host->Answer();  // The first frame was alone in its line.
    ASSERT_EQ(host->Wait().size(), 3u);
    host->sink.frames.clear();
    std::memcpy(host->frames[1].data - coherent::kRecordBytes, &lie, sizeof(lie));
    host->Answer();
    EXPECT_EQ(host->sink.frames, Frames{PlainFrame(60, 2)}) << std::hex << lie;
    EXPECT_EQ(host->Stat(kStatLineBadRecord), 1u);
    EXPECT_TRUE(host->StayedInside());
  }
}

TEST(IpuEndpoint, AGrownAnswerLeavesInItsTurnIfItLiesInTheLine) {
  const struct {
    /// Offset of the grown frame in units of 8 bytes; 0 keeps the value that the host's end set.
    uint16_t place;
    bool leaves;
  } kCases[] = {{0, true}, {8296 / 8, false}, {65535, false}, {1, false}};
  for (const auto& [place, leaves] : kCases) {
    auto host = std::make_unique<EndpointHost>();
    host->Start();
    for (uint8_t mark = 1; mark <= 4; ++mark) host->Receive(PlainFrame(60, mark));
    host->Wait();
    host->Answer();  // The first frame was alone in its line.
    ASSERT_EQ(host->Wait().size(), 3u);
    host->sink.frames.clear();
    uint8_t* const head = host->frames[1].data - coherent::kRecordBytes;
    const std::string grown = PlainFrame(900, 9);
    uint8_t* const to = host->end->GrownRoom(900);
    ASSERT_NE(to, nullptr);
    std::memcpy(to, grown.data(), 900);
    host->end->CommitGrown(900);
    host->frames[1].data = to;
    host->frames[1].length = 900;
    if (place != 0) {
      host->frames[1].length = 0;
      host->frames[1].data = head + coherent::kRecordBytes;
    }
    host->end->Answer(host->frames, host->held);
    if (place != 0) {  // Overwrites the head before the device reads it.
      const uint64_t lie = coherent::Record{.stride = 72, .offset = 8, .flags = place}.Word();
      std::memcpy(head, &lie, sizeof(lie));
    }
    host->Step();
    EXPECT_EQ(host->sink.frames, leaves ? (Frames{PlainFrame(60, 2), grown, PlainFrame(60, 4)})
                                        : (Frames{PlainFrame(60, 2), PlainFrame(60, 4)}))
        << place;
    EXPECT_EQ(host->Stat(kStatLineBadRecord), leaves ? 0u : 1u) << place;
    EXPECT_TRUE(host->StayedInside());
  }
}

TEST(IpuEndpoint, WhatADeadHostHeldIsCounted) {
  // There are frames in three places: in the line that the host owns, in the line that it loads
  // next, and in a returned line that waits for the wire.
  EndpointHost host;
  host.Start();
  for (const int frame : {1, 2}) host.Receive(PlainFrame(60, frame));
  ASSERT_EQ(host.Wait().size(), 1u) << "the first answers the load that waited";
  host.end->Answer(host.frames, host.held);
  ASSERT_EQ(host.nic.Transmit(host.sink, 1), 1u) << "one leaves; the second is answered";
  ASSERT_EQ(host.Wait().size(), 1u);
  host.Step();
  for (const int frame : {3, 4, 5}) host.Receive(PlainFrame(60, frame));
  const std::vector<uint8_t> memory(host.Memory().begin(), host.Memory().end());
  host.nic.HostDied(host.sink);
  const auto count = [&](uint32_t statistic) {
    return host.nic.ReadRegister(StatisticRegister(statistic), 8);
  };
  EXPECT_EQ(count(kStatLineLost), 1u);
  EXPECT_EQ(count(kStatLineRxDiscards), 3u);
  EXPECT_EQ(count(kStatLineTxDiscards), 0u);
  EXPECT_EQ(count(kStatRxFrames), count(kStatTxFrames) + 4);
  EXPECT_TRUE(std::ranges::equal(memory, host.Memory())) << "none of its memory is touched";
  host.nic.HostDied(host.sink);
  EXPECT_EQ(count(kStatLineLost), 1u) << "once";
}

TEST(IpuEndpoint, WhatADeadHostHadHandedBackAndHasNotLeftIsCounted) {
  EndpointHost host;
  host.Start();
  host.Receive(PlainFrame(60, 0));
  ASSERT_EQ(host.Wait().size(), 1u);
  // These frames are delivered in the other line while the host still holds the first.
  for (const int frame : {1, 2, 3}) host.Receive(PlainFrame(60, frame));
  host.end->Answer(host.frames, host.held);
  host.Step();
  ASSERT_EQ(host.Wait().size(), 3u);
  host.end->Answer(host.frames, host.held);
  ASSERT_EQ(host.nic.Transmit(host.sink, 1), 1u) << "of the three";
  host.nic.HostDied(host.sink);
  EXPECT_EQ(host.nic.ReadRegister(StatisticRegister(kStatLineTxDiscards), 8), 2u);
  EXPECT_EQ(host.nic.ReadRegister(StatisticRegister(kStatLineLost), 8), 0u);
}

TEST(IpuEndpoint, ADeviceBackFromPowerOnGoesOnWithoutWhatItHadLent) {
  auto host = std::make_unique<EndpointHost>();
  host->Start();
  host->Receive(PlainFrame(60, 1));
  ASSERT_EQ(host->Wait().size(), 1u);
  IpuNic next(host->dma, {});  // A second device; the first one ended without a shutdown.
  next.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous);
  next.WriteRegister(kMaxFrame, 4, kMaxFrameBytes);
  const auto write = [&](uint32_t reg, uint64_t value, uint32_t bytes) {
    next.WriteRegister(QueuePage(0) + kEndpointBlock + reg, bytes, value);
  };
  write(kEndpointBase, Host::kBus + EndpointHost::kOffset, 8);
  write(kEndpointBytes, EndpointHost::kStride, 8);
  write(kEndpointControl, kEndpointEnable, 4);
  host->end->Answer(host->frames, host->held);
  next.Transmit(host->sink, 64);
  EXPECT_TRUE(host->sink.frames.empty()) << "it may have left before";
  EXPECT_EQ(next.ReadRegister(StatisticRegister(kStatLineOrphans), 8), 1u);
  const std::string frame = PlainFrame(60, 2);
  const WireFrame wire{reinterpret_cast<const uint8_t*>(frame.data()), 60};
  EXPECT_EQ(next.Receive({&wire, 1}, false), 1u);
  EXPECT_EQ(host->Wait(), Frames{frame});
  host->end->Answer(host->frames, host->held);
  next.Transmit(host->sink, 64);
  EXPECT_EQ(host->sink.frames, Frames{frame});
}

}  // namespace
}  // namespace sluice::device::ipu::test
