// SPDX-License-Identifier: BSD-3-Clause
#include "device/grid/samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "device/grid/wire.h"
#include "emulator/grid/sample_reader.h"

namespace sluice::device::grid {
namespace {

using Bytes = std::vector<uint8_t>;

/// A frame in memory that is a multiple of flits long. The bytes after the frame are not zero.
struct Frame {
  struct alignas(kFlitBytes) Flit {
    uint8_t bytes[kFlitBytes];
  };
  explicit Frame(const Bytes& from)
      : flits((from.size() + kFlitBytes - 1) / kFlitBytes),
        length(static_cast<uint32_t>(from.size())) {
    std::memset(flits.data(), 0xa5, flits.size() * kFlitBytes);
    std::memcpy(flits.data(), from.data(), from.size());
  }
  Returned returned() const { return {flits.data()->bytes, length}; }

  std::vector<Flit> flits;
  uint32_t length;
};

std::vector<Bytes> RandomFrames(uint32_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Bytes> frames;
  for (uint32_t i = 0; i < count; ++i) {
    Bytes& frame = frames.emplace_back(60 + random() % 1460);
    for (uint8_t& byte : frame) byte = static_cast<uint8_t>(random());
  }
  return frames;
}

/// Mixes bits as described by Evensen (https://mostlymangling.blogspot.com/2019/12, "Moremur").
uint64_t Moremur(uint64_t x) {
  x ^= x >> 27;
  x *= 0x3C79AC492BA7B653;
  x ^= x >> 33;
  x *= 0x1C69B3F74AC4AE35;
  x ^= x >> 27;
  return x;
}

/// Computes the documented sum in the simplest way.
uint64_t ExpectedHash(const std::vector<Bytes>& frames) {
  uint64_t sum = 0;
  for (Bytes frame : frames) {
    const uint64_t length = frame.size();
    frame.resize((length + kFlitBytes - 1) / kFlitBytes * kFlitBytes);
    uint64_t low = 0, high = 0;
    for (uint64_t flit = 0; flit * kFlitBytes < frame.size(); ++flit) {
      uint64_t hash = flit;
      for (uint32_t i = 0; i < 8; ++i) {
        uint64_t word;
        std::memcpy(&word, &frame[flit * kFlitBytes + 8 * i], sizeof(word));
        hash = Moremur(hash ^ word) + word;
      }
      low = (low + hash) & 0xffffffff;
      high = (high + (hash >> 32)) & 0xffffffff;
    }
    sum += Moremur((high << 32 | low) ^ length << 40);
  }
  return sum;
}

/// The sending side of a card whose frames have no tags.
class Bench {
 public:
  explicit Bench(uint32_t interval)
      : card_(std::make_unique<Card>()), slots_(std::make_unique<Sample[]>(kSamples)) {
    card_->wire.shape.tagged = 0;
    card_->wire.shape.largest = 2;  // Smaller than the longest frames that return.
    card_->wire.shape.verify = interval;
    card_->wire.shape.samples = slots_.get();
  }
  void Return(const std::vector<Bytes>& frames) {
    const std::vector<Frame> own(frames.begin(), frames.end());
    std::vector<uint32_t> low(own.size(), 7), high(own.size(), 7);
    TeamMemory memory;
    const Team team(&memory);
    RecordFrames(*card_, card_->wire.shape, team, static_cast<uint32_t>(own.size()), low.data(),
                 high.data(), [&](uint32_t i) { return own[i].returned(); });
  }
  uint64_t hash() const { return card_->counters.wire[static_cast<uint32_t>(WireEvent::kHash)]; }
  Wire& wire() { return card_->wire; }
  Sample* slots() { return slots_.get(); }

 private:
  std::unique_ptr<Card> card_;
  std::unique_ptr<Sample[]> slots_;
};

/// Collects the checked frames.
class Collector final : public emulator::Recording {
 public:
  bool Record(std::string*) override { return true; }
  std::span<const WireFrame> frames() const override { return {}; }
  double rate_pps() const override { return 0; }
  uint64_t limit() const override { return 0; }
  emulator::VerifyMode share() const override { return emulator::VerifyMode::kSampled; }
  void Check(const WireFrame& frame) override {
    checked.emplace_back(frame.data, frame.data + frame.length);
  }
  const emulator::WireTotals& totals() const override { return totals_; }
  std::vector<Counter> Statistics(uint64_t, uint64_t) const override { return {}; }

  std::vector<Bytes> checked;

 private:
  emulator::WireTotals totals_;
};

TEST(CardHash, IsTheDocumentedSum) {
  Bench bench(0);
  std::vector<Bytes> frames = RandomFrames(500, 1);
  for (uint32_t bytes = 1; bytes <= 130; ++bytes) frames.push_back(Bytes(bytes, 0x5a));
  bench.Return(frames);
  EXPECT_EQ(bench.hash(), ExpectedHash(frames));
  EXPECT_EQ(bench.slots()[0].number, 0u) << "no frame is sampled";
}

TEST(CardHash, DependsOnTheFramesButNotOnTheirOrderOrBatches) {
  std::vector<Bytes> frames = RandomFrames(100, 2);
  Bench one(0), other(0), changed(0);
  one.Return(frames);
  std::shuffle(frames.begin(), frames.end(), std::mt19937(3));
  other.Return({frames.begin(), frames.begin() + 37});
  other.Return({frames.begin() + 37, frames.end()});
  EXPECT_EQ(one.hash(), other.hash());
  frames[50].back() ^= 1;
  changed.Return(frames);
  EXPECT_NE(one.hash(), changed.hash());
}

// The hash changes if two frames exchange a flit.
TEST(CardHash, BindsTheFlitsOfAFrame) {
  std::vector<Bytes> frames = {Bytes(128, 1), Bytes(128, 2)};
  Bench one(0), other(0);
  one.Return(frames);
  std::swap_ranges(frames[0].begin() + 64, frames[0].end(), frames[1].begin() + 64);
  other.Return(frames);
  EXPECT_NE(one.hash(), other.hash());
}

TEST(CardHash, IgnoresFramesThatWereNotSent) {
  Bench bench(1);
  bench.Return({Bytes(), Bytes(100, 9), Bytes()});
  EXPECT_EQ(bench.hash(), ExpectedHash({Bytes(100, 9)}));
  Control control;
  Collector collector;
  emulator::SampleReader(bench.slots(), control, collector).CheckAll();
  EXPECT_EQ(collector.checked, std::vector<Bytes>(1, Bytes(100, 9)));
}

TEST(CardSamples, AreEveryNthFrameAcrossBatches) {
  Bench bench(5);
  const std::vector<Bytes> frames = RandomFrames(203, 4);
  std::vector<Bytes> expected;
  for (uint32_t i = 4; i < frames.size(); i += 5) expected.push_back(frames[i]);
  for (uint32_t at = 0, size = 1; at < frames.size(); at += size, size = size % 11 + 1) {
    const auto end = std::min<size_t>(at + size, frames.size());
    bench.Return({frames.begin() + at, frames.begin() + static_cast<ptrdiff_t>(end)});
  }
  Control control;
  Collector collector;
  emulator::SampleReader(bench.slots(), control, collector).CheckAll();
  EXPECT_EQ(collector.checked, expected);
  EXPECT_EQ(control.samples_read, expected.size());
}

TEST(CardSamples, StopWhileTheRingIsFull) {
  Bench bench(1);
  Control control;
  Collector collector;
  emulator::SampleReader reader(bench.slots(), control, collector);
  const std::vector<Bytes> frames = RandomFrames(kSamples + 100, 5);
  bench.Return(frames);
  bench.Return(frames);
  reader.CheckAll();
  EXPECT_EQ(collector.checked, std::vector<Bytes>(frames.begin(), frames.begin() + kSamples));
  bench.Return(frames);
  reader.CheckAll();
  EXPECT_EQ(collector.checked.size(), kSamples) << "the card does not know yet";
  bench.wire().samples_read = static_cast<uint32_t>(control.samples_read);
  bench.Return({frames.begin() + 7, frames.begin() + 9});
  reader.CheckAll();
  ASSERT_EQ(collector.checked.size(), kSamples + 2);
  EXPECT_EQ(collector.checked.back(), frames[8]);
}

// In a long run, sample numbers exceed 32 bits.
TEST(CardSamples, GoOnAfterTheirNumbersWrap) {
  Bench bench(1);
  bench.wire().sampled = bench.wire().samples_read = ~0u - 1;
  bench.Return(RandomFrames(4, 6));
  const uint64_t numbers[] = {0xffff'ffff, 0x1'0000'0000, 1, 2};
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(bench.slots()[(~0u - 1 + i) % kSamples].number, numbers[i]);
  }
}

TEST(CardSamples, ExceptFramesThatAreTooLong) {
  Bench bench(1);
  bench.Return({Bytes(Sample::kMaxBytes + 1, 1), Bytes(Sample::kMaxBytes, 2)});
  Control control;
  Collector collector;
  emulator::SampleReader(bench.slots(), control, collector).CheckAll();
  EXPECT_EQ(collector.checked, std::vector<Bytes>(1, Bytes(Sample::kMaxBytes, 2)));
}

TEST(CardRing, RepeatsItsLastEntries) {
  auto card = std::make_unique<Card>();
  Wire& wire = card->wire;
  card->wire_on = 1;
  wire.shape.tagged = 0;
  wire.shape.entries = 10;
  wire.shape.repeat_from = 4;
  wire.shape.batch_frames = 6;
  std::vector<uint32_t> entries;
  while (entries.size() < 24) {
    const Batch batch = FetchBatch(*card, wire, wire.shape, 0, 1);
    ASSERT_EQ(batch.count, 6u);
    for (uint32_t i = 0; i < batch.count; ++i) entries.push_back(EntryOf(wire.shape, batch, i));
  }
  EXPECT_EQ(entries, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 4, 5,
                                            6, 7, 8, 9, 4, 5, 6, 7, 8, 9, 4, 5}));
}

}  // namespace
}  // namespace sluice::device::grid
