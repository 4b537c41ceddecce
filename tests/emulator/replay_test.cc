// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/replay.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "packet/bytes.h"
#include "packet/capture.h"
#include "packet/checksum.h"
#include "rig.h"

namespace sluice::emulator {
namespace {

class Replay : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "replay_" + std::to_string(getpid()) + ".pcap";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  /// Writes a capture of `frames`, each truncated to `snap_bytes`.
  void Write(const std::vector<Bytes>& frames, uint32_t snap_bytes = 65535) {
    std::string error;
    auto writer = packet::CaptureWriter::Open(
        path_, packet::CaptureWriter::Resolution::kMicroseconds, snap_bytes, &error);
    ASSERT_TRUE(writer) << error;
    for (const Bytes& frame : frames) {
      const uint32_t length = static_cast<uint32_t>(frame.size());
      ASSERT_TRUE(writer->Write({frame.data(), std::min(length, snap_bytes), length, 0}));
    }
    ASSERT_TRUE(writer->Close(&error)) << error;
  }

  std::unique_ptr<ReplayWire> Open(ReplayOptions options = {},
                                   VerifyMode verify = VerifyMode::kFull) {
    options.file = path_;
    summary_.clear();
    error_.clear();
    return ReplayWire::Create(options, verify, &summary_, &error_);
  }

  std::string path_, summary_, error_;
};

ReplayOptions Count(uint64_t count) {
  ReplayOptions options;
  options.count = count;
  return options;
}

/// Returns an IPv4/UDP frame of `bytes` bytes whose payload bytes are all `fill`.
Bytes Udp(uint32_t bytes, uint8_t fill) {
  Bytes frame(bytes, fill);
  std::fill_n(frame.begin(), 42, uint8_t{0});
  packet::StoreBe16(&frame[12], 0x0800);
  frame[14] = 0x45;
  packet::StoreBe16(&frame[16], static_cast<uint16_t>(bytes - 14));
  frame[22] = 64;
  frame[23] = 17;
  packet::StoreBe32(&frame[26], 0x0a000001);
  packet::StoreBe32(&frame[30], 0x0a000002);
  packet::StoreBe16(&frame[34], 1000);
  packet::StoreBe16(&frame[36], 2000);
  packet::StoreBe16(&frame[38], static_cast<uint16_t>(bytes - 34));
  return frame;
}

Bytes Arp() {
  Bytes frame(42, 1);
  packet::StoreBe16(&frame[12], 0x0806);
  return frame;
}

TEST_F(Replay, PlaysTheCaptureInItsOrderAsOftenAsAsked) {
  Write({Udp(60, 1), Udp(1514, 2), Udp(200, 3)});
  ReplayOptions options;
  options.loop = 7;
  Rig rig(Open(options));
  std::vector<size_t> sizes;
  rig.device.transform = [&](Bytes& frame) {
    sizes.push_back(frame.size());
    return true;
  };
  rig.Start();
  rig.Run(100);
  rig.StopAndDrain();
  ASSERT_EQ(sizes.size(), 21u);
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(sizes[i], (std::array<size_t, 3>{60, 1514, 200}[i % 3]));
  }
  EXPECT_EQ(rig["wire_lost"], 0u);
  EXPECT_EQ(rig["wire_corrupted"], 0u);
  EXPECT_EQ(rig["wire_duplicated"], 0u);
}

TEST_F(Replay, PlaysForEverByDefaultAndInFullBursts) {
  Write({Udp(60, 1)});
  const auto wire = Open();
  ASSERT_NE(wire, nullptr);
  wire->Start(0);
  EXPECT_EQ(wire->Pull(0, 256).size(), 256u);
}

TEST_F(Replay, GivesFramesTheLengthThatTheyHadOnTheWire) {
  Write({Udp(500, 9)}, /*snap_bytes=*/96);
  const auto wire = Open();
  ASSERT_NE(wire, nullptr) << error_;
  const auto frame = wire->Pull(0, 1)[0];
  EXPECT_EQ(frame.length, 500u);
  EXPECT_EQ(frame.data[95], 9);
  EXPECT_EQ(frame.data[96], 0);
  EXPECT_EQ(frame.data[499], 0);
  EXPECT_NE(summary_.find("1 of them padded"), std::string::npos) << summary_;
}

TEST_F(Replay, PadsFramesThatWereCapturedBeforeTheMacPaddedThem) {
  Write({Arp()});
  EXPECT_EQ(Open()->Pull(0, 1)[0].length, 60u);
}

TEST_F(Replay, SkipsAndCountsGiantsAndRunts) {
  Write({Bytes(1519, 1), Udp(1518, 2), Bytes(13, 3), Bytes(9000, 4)});
  const auto wire = Open();
  ASSERT_NE(wire, nullptr) << error_;
  EXPECT_EQ(wire->totals().skipped, 3u);
  EXPECT_NE(summary_.find("1 frames loaded"), std::string::npos) << summary_;
}

TEST_F(Replay, RefusesCapturesWithNothingToSendAndFilesThatAreNone) {
  Write({});
  EXPECT_EQ(Open(), nullptr);
  EXPECT_NE(error_.find(path_), std::string::npos) << error_;
  Write({Bytes(13, 1), Bytes(2000, 1)});
  EXPECT_EQ(Open(), nullptr);
  EXPECT_NE(error_.find(path_), std::string::npos) << error_;
  std::ofstream(path_) << "this is no capture, but long enough for a header of one";
  EXPECT_EQ(Open(), nullptr);
  EXPECT_NE(error_, "");
  std::filesystem::remove(path_);
  EXPECT_EQ(Open(), nullptr);
  EXPECT_NE(error_.find(path_), std::string::npos) << error_;
}

TEST_F(Replay, OfACaptureThatEndsInsideARecordPlaysWhatIsWholeAndSaysSo) {
  Write({Udp(100, 1), Udp(100, 2), Udp(100, 3)});
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 50);
  const auto wire = Open();
  ASSERT_NE(wire, nullptr) << error_;
  EXPECT_NE(summary_.find("2 frames loaded"), std::string::npos) << summary_;
  EXPECT_NE(summary_.find(path_, path_.size()), std::string::npos)
      << "names the file: " << summary_;
}

TEST_F(Replay, EveryCutOfACaptureIsRefusedOrPlayed) {
  Write({Udp(60, 1), Arp()});
  const auto whole = std::filesystem::file_size(path_);
  for (auto size = whole; size-- > 0;) {
    std::filesystem::resize_file(path_, size);
    const auto wire = Open();
    EXPECT_EQ(wire == nullptr, error_ != "") << size;
  }
}

TEST_F(Replay, AReflectionIsRecognisedAndAChangedPayloadIsNot) {
  Write({Udp(100, 1), Udp(100, 2)});
  ReplayOptions options;
  options.count = 100;
  uint32_t number = 0;
  Rig rig(Open(options));
  rig.device.transform = [&](Bytes& frame) {
    std::swap_ranges(frame.begin() + 26, frame.begin() + 30, frame.begin() + 30);
    std::swap_ranges(frame.begin() + 34, frame.begin() + 36, frame.begin() + 36);
    ++frame[42];
    if (++number == 50) ++frame[43];
    return true;
  };
  rig.Start();
  rig.Run(10);
  rig.StopAndDrain();
  EXPECT_EQ(rig["wire_corrupted"], 1u);
  EXPECT_EQ(rig["wire_lost"], 1u);
  EXPECT_EQ(rig["wire_verified"], 100u);
}

TEST_F(Replay, AnEthernetTrailerMayBeLostOnTheWay) {
  Bytes frame = Udp(60, 5);
  packet::StoreBe16(&frame[16], 40);  // The rest is Ethernet padding.
  packet::StoreBe16(&frame[38], 20);
  Write({frame});
  Rig rig(Open(Count(10)));
  rig.device.transform = [](Bytes& back) {
    back.resize(54);
    return true;
  };
  rig.Start();
  rig.Run(10);
  EXPECT_EQ(rig["wire_corrupted"], 0u);
  EXPECT_EQ(rig["wire_returned"], 10u);
}

TEST_F(Replay, AFrameThatClaimsPaddingOfItsLastFlitMayGrowByIt) {
  Bytes frame = Udp(100, 5);
  packet::StoreBe16(&frame[16], 110);  // Claims 124 bytes: two flits, as for the actual 100.
  Write({frame});
  Rig rig(Open(Count(10)));
  rig.device.transform = [](Bytes& back) {
    back.resize(124, 0xee);
    return true;
  };
  rig.Start();
  rig.Run(10);
  EXPECT_EQ(rig["wire_corrupted"], 0u);
}

TEST_F(Replay, WhatReturnsBeforeItWasSentIsOfAnEarlierRun) {
  Write({Udp(100, 1), Udp(100, 2)});
  Rig rig(Open(Count(4)));
  const Bytes old = Udp(100, 1);
  const device::WireFrame view = {old.data(), 100};
  rig.stepper().Deliver({&view, 1});
  rig.Start();
  rig.Run(10);
  EXPECT_EQ(rig["wire_foreign"], 1u);
  EXPECT_EQ(rig["wire_duplicated"], 0u);
  EXPECT_EQ(rig["wire_outstanding"], 0u);
}

TEST_F(Replay, WhatReturnsMoreOftenThanItWasSentIsDuplicated) {
  Write({Udp(100, 1), Udp(100, 2)});
  Rig rig(Open(Count(4)));
  rig.Start();
  rig.Run(10);
  const Bytes again = Udp(100, 1);
  const device::WireFrame view = {again.data(), 100};
  rig.stepper().Deliver({&view, 1});
  EXPECT_EQ(rig["wire_duplicated"], 1u);
}

TEST_F(Replay, WhatIsSwallowedIsLostOnceTheSourceStopped) {
  Write({Udp(100, 1), Udp(100, 2)});
  Rig rig(Open(Count(1000)));
  uint32_t number = 0;
  rig.device.transform = [&](Bytes&) { return ++number % 100 != 0; };
  rig.Start();
  rig.Run(100);
  EXPECT_EQ(rig["wire_outstanding"], 10u);
  rig.StopAndDrain();
  EXPECT_EQ(rig["wire_lost"], 10u);
}

TEST_F(Replay, SampledModeComparesOneFrameInSixtyFour) {
  Write({Udp(100, 1)});
  Rig rig(Open(Count(6400), VerifyMode::kSampled));
  rig.device.transform = [](Bytes& frame) {
    ++frame[60];
    return true;
  };
  rig.Start();
  rig.Run(100);
  EXPECT_EQ(rig["wire_verified"], 100u);
  EXPECT_EQ(rig["wire_corrupted"], 100u);
}

}  // namespace
}  // namespace sluice::emulator
