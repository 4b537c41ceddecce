// SPDX-License-Identifier: BSD-3-Clause
//
// Tests pcapng captures that other tools write but libpcap rejects. The test composes them
// according to the format's draft.
#include "packet/capture_pcapng.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "capture_file.h"
#include "fixtures.h"

namespace sluice::packet {
namespace {

using test::PcapngFile;
using Bytes = std::vector<uint8_t>;
using Frame = std::tuple<Bytes, uint32_t, uint64_t>;  // Bytes, length, nanoseconds.

/// Returns the frames up to the end or the first error.
std::vector<Frame> FramesOf(const Bytes& bytes, std::string* error) {
  error->clear();
  const test::TemporaryFile file(bytes);
  auto reader = CaptureReader::Open(file.path(), error);
  std::vector<Frame> frames;
  if (!reader) return frames;
  CaptureRecord record;
  while (reader->Next(&record, error) == CaptureReader::Status::kRecord) {
    frames.emplace_back(Bytes(record.data, record.data + record.captured_bytes), record.length,
                        record.timestamp_ns);
  }
  return frames;
}

TEST(Pcapng, SectionsAndInterfacesAreTheirOwn) {
  const Bytes data(60, 1), snapped(33, 2);
  PcapngFile file;
  for (const bool big_endian : {false, true, false}) {
    file.AddSection(big_endian);
    file.AddInterface(1, 262144);
    file.AddInterface(113, 262144);  // Linux cooked; no frames of this interface follow.
    file.AddOtherBlock();
    // The resolution is nanoseconds, and if_tsoffset corrects a clock that is 5 s slow.
    const Bytes offset = big_endian ? Bytes{0, 0, 0, 0, 0, 0, 0, 5} : Bytes{5, 0, 0, 0, 0, 0, 0, 0};
    file.AddInterface(1, 33, {{9, {9}}, {14, offset}});
    file.AddInterface(1, 0, {{9, {0x80 | 10}}});  // 1024 ticks per second.
    file.AddPacket(0, 3'000'001, 60, data);
    file.AddPacket(2, 3'000'000'001, 1514, snapped);
    file.AddPacket(3, 2 * 1024 + 512, 60, data);
    file.AddSimplePacket(60, data);
  }
  std::string error;
  const std::vector<Frame> frames = FramesOf(file.bytes(), &error);
  EXPECT_EQ(error, "");
  std::vector<Frame> expected;
  for (int i = 0; i < 3; ++i) {
    expected.insert(expected.end(), {{data, 60, 3'000'001'000},
                                     {snapped, 1514, 8'000'000'001},
                                     {data, 60, 2'500'000'000},
                                     {data, 60, 0}});
  }
  EXPECT_EQ(frames, expected);
}

TEST(Pcapng, CutsTheFcsThatAnInterfaceOrAPacketHas) {
  const Bytes whole(64, 1), cut(60, 1);
  PcapngFile file;
  file.AddSection(false);
  file.AddInterface(1, 0, {{13, {4}}});
  file.AddInterface(1, 0);
  file.AddPacket(0, 0, 64, whole);
  file.AddPacket(1, 0, 64, whole);
  file.AddPacket(1, 0, 64, whole, {{2, {4 << 5, 0, 0, 0}}});
  file.AddPacket(1, 0, 0, whole);  // The length is unknown.
  std::string error;
  EXPECT_EQ(FramesOf(file.bytes(), &error),
            (std::vector<Frame>{{cut, 60, 0}, {whole, 64, 0}, {cut, 60, 0}, {whole, 64, 0}}));
  EXPECT_EQ(error, "");
}

TEST(Pcapng, SaysWhatIsWrong) {
  const Bytes data(60, 1);
  std::string error;
  PcapngFile cooked;
  cooked.AddSection(true);
  cooked.AddInterface(113, 0);
  cooked.AddPacket(0, 0, 60, data);
  EXPECT_TRUE(FramesOf(cooked.bytes(), &error).empty());
  EXPECT_NE(error.find("LINUX_SLL is not Ethernet"), std::string::npos) << error;

  PcapngFile file;
  file.AddSection(false);
  file.AddInterface(1, 0);
  file.AddPacket(0, 0, 60, data);
  const Bytes good = file.bytes();
  file.AddPacket(1, 0, 60, data);
  EXPECT_EQ(FramesOf(file.bytes(), &error).size(), 1u);
  EXPECT_NE(error.find("record 2: packet refers to interface 1"), std::string::npos) << error;

  // A truncated or changed file yields at most its original frame.
  for (size_t bytes = 1; bytes < good.size(); ++bytes) {
    EXPECT_TRUE(
        FramesOf(Bytes(good.begin(), good.begin() + static_cast<long>(bytes)), &error).empty());
    // A file that consists of complete blocks is valid.
    EXPECT_EQ(error.empty(), bytes == 28 || bytes == 48) << bytes << error;
  }
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      Bytes bad = good;
      bad[at] ^= static_cast<uint8_t>(change);
      EXPECT_LE(FramesOf(bad, &error).size(), 1u);
    }
  }
}

}  // namespace
}  // namespace sluice::packet
