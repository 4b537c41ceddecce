// SPDX-License-Identifier: BSD-3-Clause
#include "packet/capture.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "capture_file.h"
#include "fixtures.h"

namespace sluice::packet {
namespace {

using test::Bytes;
using test::CaptureFile;
using test::TemporaryFile;
using Status = CaptureReader::Status;

struct Stored {
  Bytes data;
  uint32_t length;
  uint64_t timestamp_ns;

  friend bool operator==(const Stored&, const Stored&) = default;
};

/// All records up to the end or the first error. `error` is empty if there was no error.
struct Contents {
  std::vector<Stored> records;
  std::string error;
};

Contents ReadAll(const std::string& path) {
  Contents contents;
  auto reader = CaptureReader::Open(path, &contents.error);
  if (!reader) return contents;
  CaptureRecord record;
  while (reader->Next(&record, &contents.error) == Status::kRecord) {
    contents.records.push_back({Bytes(record.data, record.data + record.captured_bytes),
                                record.length, record.timestamp_ns});
  }
  return contents;
}

Contents ReadAll(const CaptureFile& file) { return ReadAll(TemporaryFile(file.bytes()).path()); }

/// Expects a one-line error that starts with the file's name.
void ExpectError(const std::string& error, const std::string& path, const std::string& part) {
  EXPECT_EQ(error.rfind(path + ": ", 0), 0u) << error;
  EXPECT_NE(error.find(part), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST(CaptureReader, ReadsBothByteOrdersAndResolutions) {
  for (const bool big_endian : {false, true}) {
    for (const bool nanoseconds : {false, true}) {
      CaptureFile file({big_endian, nanoseconds});
      file.AddRecord(1'700'000'000, 123'456, 60, 60, test::kUdp4);
      file.AddRecord(1'700'000'001, 999'999, 80, 80, test::kUdp6);
      const Contents contents = ReadAll(file);
      EXPECT_EQ(contents.error, "");
      const uint64_t tick_ns = nanoseconds ? 1 : 1000;
      const std::vector<Stored> expected{
          {test::kUdp4, 60, 1'700'000'000'000'000'000 + 123'456 * tick_ns},
          {test::kUdp6, 80, 1'700'000'001'000'000'000 + 999'999 * tick_ns}};
      EXPECT_EQ(contents.records, expected);
    }
  }
}

TEST(CaptureReader, KeepsTheLengthOfAFrameThatWasCutBySnapLength) {
  CaptureFile file({}, 40);
  file.AddRecord(1, 0, 40, 1514, std::span(test::kUdp4).first(40));
  const Contents contents = ReadAll(file);
  EXPECT_EQ(contents.error, "");
  ASSERT_EQ(contents.records.size(), 1u);
  EXPECT_EQ(contents.records[0].data.size(), 40u);
  EXPECT_EQ(contents.records[0].length, 1514u);
}

TEST(CaptureReader, ReadsSecondsBeyond2038) {
  CaptureFile file({});
  file.AddRecord(0xffffffff, 0, 60, 60, test::kUdp4);
  EXPECT_EQ(ReadAll(file).records.at(0).timestamp_ns, 4'294'967'295'000'000'000u);
}

TEST(CaptureReader, OpensACaptureWithoutRecords) {
  const Contents contents = ReadAll(CaptureFile({}));
  EXPECT_EQ(contents.error, "");
  EXPECT_TRUE(contents.records.empty());
}

TEST(CaptureReader, RefusesWhatIsNoEthernetCapture) {
  std::string error;
  EXPECT_FALSE(CaptureReader::Open("/nowhere/x.pcap", &error));
  ExpectError(error, "/nowhere/x.pcap", "No such file");

  const TemporaryFile empty;
  EXPECT_FALSE(CaptureReader::Open(empty.path(), &error));
  ExpectError(error, empty.path(), "truncated");

  const TemporaryFile text(Bytes(100, 'x'));
  EXPECT_FALSE(CaptureReader::Open(text.path(), &error));
  ExpectError(error, text.path(), "unknown file format");

  const TemporaryFile wireless(CaptureFile({}, 65535, 105).bytes());
  EXPECT_FALSE(CaptureReader::Open(wireless.path(), &error));
  ExpectError(error, wireless.path(), "IEEE802_11 is not Ethernet");

  EXPECT_FALSE(CaptureReader::Open("/", &error));
  ExpectError(error, "/", "");
}

// Bits above the link type declare that each frame ends with an FCS of two 16-bit words
// (draft-ietf-opsawg-pcap).
TEST(CaptureReader, CutsTheFcsThatAPcapFileAnnounces) {
  CaptureFile file({}, 65535, 0x24000001);
  file.AddRecord(1, 0, 64, 64, Bytes(64, 7));
  file.AddRecord(1, 0, 62, 64, Bytes(62, 7));  // The snap length cuts off half of the FCS.
  file.AddRecord(1, 0, 60, 1518, Bytes(60, 7));
  const Contents contents = ReadAll(file);
  EXPECT_EQ(contents.error, "");
  const std::vector<Stored> expected{{Bytes(60, 7), 60, 1'000'000'000},
                                     {Bytes(60, 7), 60, 1'000'000'000},
                                     {Bytes(60, 7), 1514, 1'000'000'000}};
  EXPECT_EQ(contents.records, expected);
}

TEST(CaptureReader, ALengthOfZeroIsThatOfTheRecord) {
  CaptureFile file({});
  file.AddRecord(1, 0, 60, 0, test::kUdp4);
  EXPECT_EQ(ReadAll(file).records, (std::vector<Stored>{{test::kUdp4, 60, 1'000'000'000}}));
}

TEST(CaptureReader, RefusesRecordsThatCannotBe) {
  const struct {
    uint32_t captured, length;
    const char* message;
  } kRecords[] = {
      {60, 59, "record 1: 60 captured bytes exceed the frame's length of 59"},
      {60, 0xffffffff, "record 1: frame of 4294967295 bytes exceeds the limit of 65557"},
      {0xffffffff, 0xffffffff, "record 1: "},
      {0x80000000, 60, "record 1: "},
      {262144, 262144, "record 1: "},
  };
  for (const auto& bad : kRecords) {
    CaptureFile file({}, 262144);
    file.AddRecord(1, 0, bad.captured, bad.length, Bytes(bad.captured == 262144 ? 262144 : 60));
    const TemporaryFile stored(file.bytes());
    const Contents contents = ReadAll(stored.path());
    EXPECT_TRUE(contents.records.empty());
    ExpectError(contents.error, stored.path(), bad.message);
  }
}

TEST(CaptureReader, RepeatsItsEnding) {
  CaptureFile file({});
  file.AddRecord(1, 0, 60, 59, test::kUdp4);
  file.AddRecord(1, 0, 60, 60, test::kUdp4);
  const TemporaryFile stored(file.bytes());
  std::string first, second;
  auto reader = CaptureReader::Open(stored.path(), &first);
  ASSERT_TRUE(reader);
  CaptureRecord record;
  EXPECT_EQ(reader->Next(&record, &first), Status::kError);
  EXPECT_EQ(reader->Next(&record, &second), Status::kError);
  EXPECT_EQ(first, second);
}

// A file that is truncated within its header cannot be opened. A file that is truncated within a
// record yields the records before that record and an error. A file that is truncated after a
// record does not yield an error.
TEST(CaptureReader, EveryTruncationOfAFile) {
  for (const bool big_endian : {false, true}) {
    CaptureFile file({big_endian, false});
    file.AddRecord(1, 2, 60, 60, test::kUdp4);
    file.AddRecord(3, 4, 80, 80, test::kUdp6);
    const size_t kHeader = 24, kFirst = kHeader + 16 + 60, kSecond = kFirst + 16 + 80;
    ASSERT_EQ(file.bytes().size(), kSecond);
    for (size_t size = 0; size <= kSecond; ++size) {
      const TemporaryFile cut(std::span(file.bytes()).first(size));
      const Contents contents = ReadAll(cut.path());
      const bool whole = size == kHeader || size == kFirst || size == kSecond;
      ASSERT_EQ(contents.error.empty(), whole) << size << " " << contents.error;
      ASSERT_EQ(contents.records.size(), size < kFirst ? 0u : size < kSecond ? 1u : 2u) << size;
    }
  }
}

/// Appends a pcapng block (draft-ietf-opsawg-pcapng). Pads `body` to complete words.
void AddBlock(uint32_t type, Bytes body, Bytes* file) {
  while (body.size() % 4 != 0) body.push_back(0);
  const auto word = [file](uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8)
      file->push_back(static_cast<uint8_t>(value >> shift));
  };
  const auto length = static_cast<uint32_t>(12 + body.size());
  word(type);
  word(length);
  file->insert(file->end(), body.begin(), body.end());
  word(length);
}

// Like the previous test, but with pcapng blocks. A section without interfaces or packets is a
// complete file.
TEST(CaptureReader, EveryTruncationOfAFileOfBlocks) {
  const Bytes section{0x4d, 0x3c, 0x2b, 0x1a, 1,    0,    0,    0,
                      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  const Bytes interface { 1, 0, 0, 0, 0xff, 0xff, 0, 0 };  // Ethernet.
  Bytes file;
  std::vector<size_t> ends;
  AddBlock(0x0a0d0d0a, section, &file);
  ends.push_back(file.size());
  AddBlock(1, interface, &file);
  ends.push_back(file.size());
  for (const Bytes& frame : {test::kUdp4, test::kUdp6}) {
    const auto size = static_cast<uint8_t>(frame.size());
    Bytes packet{0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, size, 0, 0, 0, size, 0, 0, 0};
    packet.insert(packet.end(), frame.begin(), frame.end());
    AddBlock(6, packet, &file);
    ends.push_back(file.size());
  }
  for (size_t size = 0; size <= file.size(); ++size) {
    const TemporaryFile cut{std::span(file).first(size)};
    const Contents contents = ReadAll(cut.path());
    const auto whole = std::ranges::count_if(ends, [&](size_t end) { return end <= size; });
    const bool at_end = std::ranges::find(ends, size) != ends.end();
    ASSERT_EQ(contents.error.empty(), at_end) << size << " " << contents.error;
    ASSERT_EQ(contents.records.size(), whole <= 2 ? 0u : static_cast<size_t>(whole) - 2) << size;
  }
}

TEST(CaptureWriter, WritesWhatTheReaderReads) {
  using Resolution = CaptureWriter::Resolution;
  for (const Resolution resolution : {Resolution::kMicroseconds, Resolution::kNanoseconds}) {
    const TemporaryFile file;
    std::string error;
    auto writer = CaptureWriter::Open(file.path(), resolution, kMaxCaptureBytes, &error);
    ASSERT_TRUE(writer) << error;
    constexpr uint64_t kTimestamp = 1'700'000'000'123'456'789;
    std::vector<Stored> expected;
    for (const test::Fixture& fixture : test::kFixtures) {
      const auto size = static_cast<uint32_t>(fixture.bytes->size());
      EXPECT_TRUE(writer->Write({fixture.bytes->data(), size, size, kTimestamp}));
      const uint64_t cut = resolution == Resolution::kMicroseconds ? 789 : 0;
      expected.push_back({*fixture.bytes, size, kTimestamp - cut});
    }
    EXPECT_TRUE(writer->Close(&error)) << error;
    const Contents contents = ReadAll(file.path());
    EXPECT_EQ(contents.error, "");
    EXPECT_EQ(contents.records, expected);
  }
}

TEST(CaptureWriter, CutsFramesAtItsSnapLength) {
  const TemporaryFile file;
  std::string error;
  auto writer =
      CaptureWriter::Open(file.path(), CaptureWriter::Resolution::kNanoseconds, 34, &error);
  ASSERT_TRUE(writer) << error;
  EXPECT_TRUE(writer->Write({test::kUdp4.data(), 60, 60, 5}));
  EXPECT_TRUE(writer->Write({test::kUdp4.data(), 20, 1500, 6}));
  ASSERT_TRUE(writer->Close(&error)) << error;
  const Contents contents = ReadAll(file.path());
  const std::vector<Stored> expected{
      {Bytes(test::kUdp4.begin(), test::kUdp4.begin() + 34), 60, 5},
      {Bytes(test::kUdp4.begin(), test::kUdp4.begin() + 20), 1500, 6}};
  EXPECT_EQ(contents.records, expected);
}

TEST(CaptureWriter, RefusesRecordsThatCannotBe) {
  const TemporaryFile file;
  std::string error;
  auto writer =
      CaptureWriter::Open(file.path(), CaptureWriter::Resolution::kNanoseconds, 65535, &error);
  ASSERT_TRUE(writer) << error;
  EXPECT_FALSE(writer->Write({test::kUdp4.data(), 60, 59, 0}));
  EXPECT_FALSE(writer->Write({test::kUdp4.data(), 60, kMaxCaptureBytes + 1, 0}));
  EXPECT_TRUE(writer->Close(&error));
  EXPECT_FALSE(writer->Write({test::kUdp4.data(), 60, 60, 0}));
  EXPECT_TRUE(writer->Close(&error));
}

TEST(CaptureWriter, NamesTheFileThatItCannotWrite) {
  std::string error;
  const auto kNano = CaptureWriter::Resolution::kNanoseconds;
  EXPECT_FALSE(CaptureWriter::Open("/nowhere/x.pcap", kNano, 65535, &error));
  ExpectError(error, "/nowhere/x.pcap", "No such file");
  EXPECT_FALSE(CaptureWriter::Open("x.pcap", kNano, 0, &error));
  ExpectError(error, "x.pcap", "snap length 0");
  EXPECT_FALSE(CaptureWriter::Open("x.pcap", kNano, kMaxCaptureBytes + 1, &error));
  ExpectError(error, "x.pcap", "snap length 65558");
}

TEST(CaptureWriter, ReportsAFullDisk) {
  std::string error;
  auto writer =
      CaptureWriter::Open("/dev/full", CaptureWriter::Resolution::kNanoseconds, 65535, &error);
  ASSERT_TRUE(writer) << error;
  // The data exceeds the stream's buffer, so a write fails before the flush.
  const Bytes frame(1514);
  for (int i = 0; i < 1000; ++i) writer->Write({frame.data(), 1514, 1514, 0});
  EXPECT_FALSE(writer->Close(&error));
  ExpectError(error, "/dev/full", "No space left");
}

}  // namespace
}  // namespace sluice::packet
