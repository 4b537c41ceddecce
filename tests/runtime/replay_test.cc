// SPDX-License-Identifier: BSD-3-Clause
//
// Tests --pcap with --out_pcap: passes the frames of a capture through one engine, using the
// capture's time.
#include "runtime/replay.h"

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

DECLARE_string(pcap);
DECLARE_string(out_pcap);
DECLARE_string(pass_pcap);

namespace sluice::runtime {
namespace {

using packet::CaptureReader;
using packet::CaptureWriter;

constexpr uint64_t kSecond = 1'000'000'000;

struct Stored {
  std::vector<uint8_t> bytes;
  uint64_t timestamp_ns;
  friend bool operator==(const Stored&, const Stored&) = default;
};

// Handles a frame according to its first byte. Prepends 4 bytes to forwarded frames.
class Ender final : public packet::Engine {
 public:
  static constexpr std::array<std::string_view, 2> kDropReasons{"never", "asked_for"};

  void AtRest(uint64_t now) override { rested_.push_back(now); }
  packet::Verdict Process(packet::Frame& frame, uint64_t now) {
    processed_.push_back(now);
    switch (frame.data[0]) {
      case 'c':
        return packet::kConsume;
      case 'd':
        return packet::Drop(1);
      case 'p':
        return packet::kPass;
      default:
        break;
    }
    EXPECT_GE(frame.headroom, 128u);
    frame.data -= 4;
    frame.length += 4;
    std::copy_n("head", 4, frame.data);
    return packet::kForward;
  }
  std::vector<uint64_t> rested_;
  std::vector<uint64_t> processed_;
};

class Replayed : public testing::Test {
 protected:
  Replayed() {
    folder_ = testing::TempDir() + "/replay_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    FLAGS_pcap = folder_ + "/in.pcap";
    FLAGS_out_pcap = folder_ + "/out.pcap";
    FLAGS_pass_pcap = "";
    line_.app = "test";
    line_.options.json = folder_ + "/report.json";
  }
  ~Replayed() override { std::filesystem::remove_all(folder_); }

  void Write(const std::vector<Stored>& frames, uint32_t cut = 0) {
    std::string error;
    auto writer =
        CaptureWriter::Open(FLAGS_pcap, CaptureWriter::Resolution::kNanoseconds, 65535, &error);
    ASSERT_TRUE(writer) << error;
    for (const Stored& frame : frames) {
      const auto length = static_cast<uint32_t>(frame.bytes.size());
      ASSERT_TRUE(writer->Write({frame.bytes.data(), length - cut, length, frame.timestamp_ns}));
    }
    ASSERT_TRUE(writer->Close(&error)) << error;
  }
  static std::vector<Stored> Read(const std::string& path) {
    std::string error;
    auto reader = CaptureReader::Open(path, &error);
    EXPECT_TRUE(reader) << error;
    std::vector<Stored> frames;
    packet::CaptureRecord record;
    while (reader->Next(&record, &error) == CaptureReader::Status::kRecord) {
      frames.push_back({{record.data, record.data + record.captured_bytes}, record.timestamp_ns});
    }
    return frames;
  }
  nlohmann::json Report() const { return nlohmann::json::parse(std::ifstream(line_.options.json)); }

  std::string folder_;
  CommandLine line_;
  Ender engine_;
};

Stored Frame(char kind, uint64_t seconds) {
  return {{static_cast<uint8_t>(kind), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
          seconds * kSecond};
}

TEST_F(Replayed, EveryFrameEndsOnceAndTheReportSaysHow) {
  Write({Frame('f', 10), Frame('c', 11), Frame('d', 12), Frame('p', 13), Frame('f', 14)});
  EXPECT_EQ(Replay(line_, engine_), 0);
  const nlohmann::json report = Report();
  EXPECT_EQ(report["rx_pkts"], 5);
  EXPECT_EQ(report["tx_pkts"], 2);
  EXPECT_EQ(report["passed_pkts"], 1);
  EXPECT_EQ(report["consumed_pkts"], 2);  // Includes the passed frame.
  EXPECT_EQ(report["drops"]["asked_for"], 1);
  EXPECT_EQ(report["drops"]["never"], 0);
  EXPECT_EQ(report["duration_s"], 4);
  EXPECT_EQ(report["rx_bytes"], 5 * 14);
  EXPECT_EQ(report["tx_bytes"], 2 * 18);
}

TEST_F(Replayed, FramesThatLeaveKeepTheirTime) {
  Write({Frame('f', 10), Frame('d', 11), Frame('f', 12)});
  EXPECT_EQ(Replay(line_, engine_), 0);
  Stored first = Frame('f', 10);
  Stored second = Frame('f', 12);
  for (Stored* frame : {&first, &second}) {
    frame->bytes.insert(frame->bytes.begin(), {'h', 'e', 'a', 'd'});
  }
  EXPECT_EQ(Read(FLAGS_out_pcap), (std::vector<Stored>{first, second}));
}

TEST_F(Replayed, TheClockIsTheCaptures) {
  Write({Frame('f', 10), Frame('d', 11)});
  EXPECT_EQ(Replay(line_, engine_), 0);
  EXPECT_EQ(engine_.rested_, (std::vector<uint64_t>{10 * kSecond, 11 * kSecond}));
  EXPECT_EQ(engine_.processed_, engine_.rested_);
}

TEST_F(Replayed, PassedFramesGoToACaptureOfTheirOwn) {
  FLAGS_pass_pcap = folder_ + "/pass.pcap";
  Write({Frame('p', 1), Frame('f', 2), Frame('p', 3)});
  EXPECT_EQ(Replay(line_, engine_), 0);
  EXPECT_EQ(Read(FLAGS_pass_pcap), (std::vector<Stored>{Frame('p', 1), Frame('p', 3)}));
}

TEST_F(Replayed, WhatTheCaptureCutOffIsZeros) {
  Write({Frame('p', 1)}, 4);
  FLAGS_pass_pcap = folder_ + "/pass.pcap";
  EXPECT_EQ(Replay(line_, engine_), 0);
  Stored padded = Frame('p', 1);
  std::fill(padded.bytes.end() - 4, padded.bytes.end(), uint8_t{0});
  EXPECT_EQ(Read(FLAGS_pass_pcap), (std::vector<Stored>{padded}));
}

TEST_F(Replayed, ACaptureThatBreaksOffEndsWithOne) {
  Write({Frame('f', 1), Frame('f', 2)});
  std::filesystem::resize_file(FLAGS_pcap, std::filesystem::file_size(FLAGS_pcap) - 3);
  EXPECT_EQ(Replay(line_, engine_), 1);
  EXPECT_EQ(Report()["rx_pkts"], 1);
}

TEST_F(Replayed, FilesThatCannotBeOpenedEndWithTwo) {
  FLAGS_pcap = folder_ + "/none.pcap";
  EXPECT_EQ(Replay(line_, engine_), 2);
  FLAGS_pcap = "";
  EXPECT_EQ(Replay(line_, engine_), 2);
  FLAGS_pcap = folder_ + "/in.pcap";
  Write({Frame('f', 1)});
  FLAGS_out_pcap = folder_ + "/none/out.pcap";
  EXPECT_EQ(Replay(line_, engine_), 2);
}

// Sends its callbacks as frames with their name and number.
class Narrator final : public packet::Engine {
 public:
  void set_outbox(packet::Outbox outbox) override { outbox_ = outbox; }
  void AtRest(uint64_t) override { Send('r'); }
  packet::Verdict Process(packet::Frame& frame, uint64_t) {
    Send('1');
    Send('2');
    return frame.data[0] == 'c' ? packet::kConsume : packet::kForward;
  }
  void Leave() override { Send('l'); }

 private:
  void Send(char what) {
    const std::vector<uint8_t> frame(14 + calls_++, static_cast<uint8_t>(what));
    EXPECT_TRUE(outbox_.Send(frame.data(), static_cast<uint32_t>(frame.size())));
  }
  packet::Outbox outbox_;
  uint32_t calls_ = 0;
};

TEST_F(Replayed, WhatTheEngineSendsFollowsTheAnswer) {
  Write({Frame('f', 10), Frame('c', 12)});
  Narrator engine;
  EXPECT_EQ(Replay(line_, engine), 0);
  const auto said = [](char what, size_t length, uint64_t seconds) {
    return Stored{std::vector<uint8_t>(length, static_cast<uint8_t>(what)), seconds * kSecond};
  };
  EXPECT_EQ(Read(FLAGS_out_pcap),
            (std::vector<Stored>{said('r', 14, 10), Frame('f', 10), said('1', 15, 10),
                                 said('2', 16, 10), said('r', 17, 12), said('1', 18, 12),
                                 said('2', 19, 12), said('l', 20, 12)}));
  EXPECT_EQ(Report()["sent_pkts"], 7);
  EXPECT_EQ(Report()["tx_pkts"], 8);
  EXPECT_EQ(Report()["consumed_pkts"], 1);
}

TEST_F(Replayed, TheApplicationAddsToTheReport) {
  Write({Frame('f', 1)});
  AppHooks hooks;
  hooks.report = [](nlohmann::ordered_json& report) { report["of_its_own"] = 7; };
  EXPECT_EQ(Replay(line_, engine_, hooks), 0);
  EXPECT_EQ(Report()["of_its_own"], 7);
}

}  // namespace
}  // namespace sluice::runtime
