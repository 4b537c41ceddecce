// SPDX-License-Identifier: BSD-3-Clause
//
// Tests captures that are used as streams: all formats, truncated frames, gaps and factors, and
// invalid files.
#include "capture.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/pktgen/headers.h"
#include "engine/pktgen/stream.h"
#include "packet/checksum.h"
#include "packet/parse.h"

namespace sluice::pktgen {
namespace {

using engine::pktgen::FrameSet;
using engine::pktgen::kTagBytes;
using Bytes = std::vector<uint8_t>;

struct Record {
  uint64_t ns;
  Bytes frame;
  uint32_t length;  ///< Length on the wire.
};

void Put(Bytes* file, uint32_t value, int bytes, bool swapped) {
  for (int i = 0; i < bytes; ++i) {
    file->push_back(static_cast<uint8_t>(value >> 8 * (swapped ? bytes - 1 - i : i)));
  }
}

// Returns a file in tcpdump's format: magic, version 2.4, time zone, accuracy, snap length,
// Ethernet, and the records.
Bytes Pcap(const std::vector<Record>& records, bool nano, bool swapped, uint32_t link = 1) {
  Bytes file;
  Put(&file, nano ? 0xa1b23c4d : 0xa1b2c3d4, 4, swapped);
  Put(&file, 2, 2, swapped);
  Put(&file, 4, 2, swapped);
  for (const uint32_t value : {0u, 0u, 65535u, link}) Put(&file, value, 4, swapped);
  for (const Record& record : records) {
    Put(&file, static_cast<uint32_t>(record.ns / 1'000'000'000), 4, swapped);
    Put(&file, static_cast<uint32_t>(record.ns % 1'000'000'000 / (nano ? 1 : 1000)), 4, swapped);
    Put(&file, static_cast<uint32_t>(record.frame.size()), 4, swapped);
    Put(&file, record.length, 4, swapped);
    file.insert(file.end(), record.frame.begin(), record.frame.end());
  }
  return file;
}

// Returns a pcapng file: section header, interface description with nanoseconds (if_tsresol 9),
// packets.
Bytes Pcapng(const std::vector<Record>& records) {
  Bytes file;
  for (const uint32_t word : {0x0a0d0d0au, 28u, 0x1a2b3c4du, 0x00000001u, ~0u, ~0u, 28u}) {
    Put(&file, word, 4, false);
  }
  for (const uint32_t word : {1u, 32u, 1u, 65535u, 0x00010009u, 9u, 0u, 32u}) {
    Put(&file, word, 4, false);
  }
  for (const Record& record : records) {
    const auto captured = static_cast<uint32_t>(record.frame.size());
    const uint32_t padded = (captured + 3) & ~3u;
    for (const uint32_t word : {6u, 32 + padded, 0u, static_cast<uint32_t>(record.ns >> 32),
                                static_cast<uint32_t>(record.ns), captured, record.length}) {
      Put(&file, word, 4, false);
    }
    file.insert(file.end(), record.frame.begin(), record.frame.end());
    file.resize(file.size() + padded - captured);
    Put(&file, 32 + padded, 4, false);
  }
  return file;
}

class PktgenCapture : public ::testing::Test {
 protected:
  bool Load(const Bytes& bytes, std::optional<double> factor = {}) {
    captured_ = {};
    error_.clear();
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
    return LoadCapture(path_, factor, &captured_, &error_);
  }
  ~PktgenCapture() override { std::remove(path_.c_str()); }

  // Returns a UDP datagram or TCP segment of a stream, with its checksum.
  static Bytes Frame(uint32_t size, uint8_t protocol = 17) {
    engine::pktgen::StreamSpec spec;
    spec.headers.protocol = protocol;
    Bytes frame(size - 4);
    for (size_t i = spec.header_bytes(); i < frame.size(); ++i) frame[i] = static_cast<uint8_t>(i);
    WriteHeaders(spec, 0, frame.data(), size - 4);
    return frame;
  }
  static Record Whole(uint64_t ns, Bytes frame) {
    const auto length = static_cast<uint32_t>(frame.size());
    return {ns, std::move(frame), length};
  }

  std::string path_ = ::testing::TempDir() + "pktgen_capture_" + std::to_string(getpid());
  Captured captured_;
  std::string error_;
};

const uint64_t kFirst = 1'600'000'000'123'456'789;

TEST_F(PktgenCapture, ReadsEveryFormat) {
  const std::vector<Record> records{Whole(kFirst, Frame(64)), Whole(kFirst + 1500, Frame(1518)),
                                    Whole(kFirst + 1501, Frame(100, 6))};
  const std::pair<Bytes, uint64_t> files[] = {{Pcap(records, true, false), 1},
                                              {Pcap(records, true, true), 1},
                                              {Pcapng(records), 1},
                                              {Pcap(records, false, false), 1000},
                                              {Pcap(records, false, true), 1000}};
  for (const auto& [file, tick] : files) {
    ASSERT_TRUE(Load(file, 1)) << error_;
    ASSERT_EQ(captured_.frames->size(), 3u);
    EXPECT_EQ(captured_.notes.snapped, 0u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(captured_.frames->entry(i).length, records[i].frame.size());
      const uint64_t ns = records[i].ns / tick * tick - kFirst / tick * tick;
      EXPECT_EQ(captured_.offsets->at_ps[i], ns * 1000);
    }
    EXPECT_GT(captured_.offsets->period_ps, captured_.offsets->at_ps[2]);
  }
}

TEST_F(PktgenCapture, TimesAreMultiplied) {
  const std::vector<Record> records{Whole(kFirst, Frame(64)), Whole(kFirst + 1000, Frame(64)),
                                    Whole(kFirst + 900, Frame(64)),  // The clock steps back.
                                    Whole(kFirst + 3000, Frame(64))};
  ASSERT_TRUE(Load(Pcap(records, true, false), 2.5));
  EXPECT_EQ(captured_.offsets->at_ps, (std::vector<uint64_t>{0, 2'500'000, 2'500'000, 7'500'000}));
  // The period includes a gap of mean length after the last frame.
  EXPECT_EQ(captured_.offsets->period_ps, 10'000'000u);
}

// The stream must not wait because of jumps in the capture's clock. The cases are a frame stamped
// an hour ahead, a frame without a timestamp, and short steps back, as in a capture from several
// queues.
TEST_F(PktgenCapture, ClocksThatWereSetMakeNoGaps) {
  constexpr uint64_t kMs = 1'000'000;
  constexpr uint64_t kSecond = 1000 * kMs;
  struct Case {
    std::vector<uint64_t> stamps_ns;
    std::vector<uint64_t> at_ms;
    uint64_t steps_back, jumps;
  };
  const Case cases[] = {
      {{kFirst + 3600 * kSecond, kFirst, kFirst + 5 * kMs}, {0, 0, 5}, 1, 1},
      {{0, kFirst, kFirst + 5 * kMs}, {0, 0, 5}, 0, 1},
      {{kFirst, kFirst + 5 * kMs, 0, kFirst + 9 * kMs, kFirst + 10 * kMs}, {0, 5, 5, 5, 6}, 1, 2},
      {{kFirst, kFirst + 5 * kMs, kFirst + 2 * kMs, kFirst + 9 * kMs}, {0, 5, 5, 9}, 1, 0},
      {{kFirst, kFirst + 86'000 * kSecond},
       {0, 86'000'000},
       0,
       0},  // A pause of a plausible length, for example at night.
  };
  for (const Case& test : cases) {
    std::vector<Record> records;
    for (const uint64_t ns : test.stamps_ns) records.push_back(Whole(ns, Frame(64)));
    ASSERT_TRUE(Load(Pcap(records, true, false), 1)) << error_;
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(captured_.offsets->at_ps[i], test.at_ms[i] * kMs * 1000) << i;
    }
    EXPECT_EQ(captured_.notes.steps_back, test.steps_back);
    EXPECT_EQ(captured_.notes.jumps, test.jumps);
  }
  const Bytes timeless = Pcap({Whole(0, Frame(64)), Whole(0, Frame(64))}, true, false);
  EXPECT_FALSE(Load(timeless, 1));
  EXPECT_NE(error_.find("same timestamp"), std::string::npos) << error_;
  EXPECT_TRUE(Load(timeless)) << "a rate says when";
}

TEST_F(PktgenCapture, TagsWhereThereIsRoomAndChecksumsHold) {
  const std::vector<Record> records{
      Whole(kFirst, Frame(64)), Whole(kFirst, Frame(75, 6)),
      // TCP with 16 bytes of payload, which is one byte too few for a tag.
      Whole(kFirst, Frame(60 + 14, 6)),
      Whole(kFirst, Frame(60)),  // UDP with 14 bytes of payload, which is too few for a tag.
      Whole(kFirst, Bytes(60, 0xff))};
  ASSERT_TRUE(Load(Pcap(records, true, false))) << error_;
  const bool tagged[] = {true, true, false, false, false};
  for (size_t i = 0; i < 5; ++i) {
    const FrameSet::Entry& entry = captured_.frames->entry(i);
    EXPECT_EQ(entry.tagged, tagged[i]) << i;
    Bytes frame(captured_.frames->bytes(entry), captured_.frames->bytes(entry) + entry.length);
    if (!entry.tagged) {
      EXPECT_TRUE(std::equal(records[i].frame.begin(), records[i].frame.end(), frame.begin()));
      continue;
    }
    engine::pktgen::Tag{.sequence = 123456, .departure_ns = 987654321, .run = 4711}.Store(
        frame.data() + frame.size() - kTagBytes);
    const auto headers = packet::Parse(frame.data(), entry.length);
    EXPECT_EQ(entry.payload, headers.payload + 1);
    const uint32_t bytes = headers.end - headers.l4;
    EXPECT_TRUE(packet::ChecksumHolds(
        packet::SumBytes(frame.data() + headers.l4, bytes,
                         packet::PseudoHeaderSumIpv4(frame.data() + headers.l3, headers.protocol,
                                                     static_cast<uint16_t>(bytes)))));
  }
  EXPECT_EQ(captured_.frames->untagged(), 3u);
}

TEST_F(PktgenCapture, CutFramesHaveTheirLengthAgain) {
  Bytes cut = Frame(1000);
  cut.resize(96);
  ASSERT_TRUE(Load(Pcap({{kFirst, cut, 996}}, true, false))) << error_;
  EXPECT_EQ(captured_.notes.snapped, 1u);
  EXPECT_EQ(captured_.frames->entry(0).length, 996);
  EXPECT_TRUE(captured_.frames->entry(0).tagged);
}

TEST_F(PktgenCapture, RefusesWhatIsNone) {
  const Bytes whole = Pcap({Whole(kFirst, Frame(64)), Whole(kFirst, Frame(64))}, true, false);
  Bytes bad = whole;
  bad.resize(bad.size() - 1);
  EXPECT_FALSE(Load(bad));
  EXPECT_NE(error_.find("give a complete capture"), std::string::npos) << error_;
  EXPECT_FALSE(Load({}));
  EXPECT_FALSE(Load(Bytes(100, 'x')));
  EXPECT_FALSE(Load(Pcap({}, true, false)));
  EXPECT_NE(error_.find("no frame"), std::string::npos);
  EXPECT_FALSE(Load(Pcap({Whole(kFirst, Frame(64))}, true, false, 101)));  // Raw IP.
  EXPECT_NE(error_.find("not Ethernet"), std::string::npos);
  EXPECT_FALSE(Load(Pcap({Whole(kFirst, Frame(1519))}, true, false)));
  EXPECT_NE(error_.find("1514"), std::string::npos);
  const Record large = Whole(kFirst, Frame(1519));
  EXPECT_TRUE(Load(Pcap({large, Whole(kFirst, Frame(64)), large}, true, false))) << error_;
  EXPECT_EQ(captured_.frames->size(), 1u);
  EXPECT_EQ(captured_.notes.oversize, 2u);
  EXPECT_FALSE(Load(Pcap({Whole(kFirst, Bytes(13))}, true, false)));
  for (const char c : error_) EXPECT_NE(c, '\n');
}

}  // namespace
}  // namespace sluice::pktgen
