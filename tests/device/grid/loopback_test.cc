// SPDX-License-Identifier: BSD-3-Clause
#include "device/grid/loopback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "device/grid/wire.h"

namespace sluice::device::grid {
namespace {

using Bytes = std::vector<uint8_t>;

/// The ring of a card's loopback wire, without a NIC.
class Ring {
 public:
  Ring()
      : card_(std::make_unique<Card>()),
        frames_(kLoopEntries),
        data_(size_t{kLoopEntries} * kLoopFlits) {
    for (uint32_t i = 0; i < kLoopEntries; ++i) frames_[i].flit = i * kLoopFlits;
    card_->wire_on = 1;
    WireShape& shape = card_->wire.shape;
    shape.frames = frames_.data();
    shape.data = data_.data()->bytes;
    shape.entries = kLoopEntries;
    shape.batch_frames = kBatchFrames;
    shape.tagged = 0;
    shape.looped = 1;
  }

  void Send(const std::vector<Bytes>& frames) {
    std::vector<Flit> memory;
    std::vector<size_t> firsts;
    for (const Bytes& frame : frames) {
      firsts.push_back(memory.size());
      memory.resize(memory.size() + (frame.size() + kFlitBytes - 1) / kFlitBytes);
      std::memset(memory.data() + firsts.back(), 0xa5,
                  (memory.size() - firsts.back()) * kFlitBytes);
      if (!frame.empty()) std::memcpy(memory.data() + firsts.back(), frame.data(), frame.size());
    }
    std::vector<uint32_t> low(frames.size()), high(frames.size());
    TeamMemory team_memory;
    LoopFrames(
        *card_, shape(), Team(&team_memory), static_cast<uint32_t>(frames.size()), low.data(),
        high.data(), [&](uint32_t i) {
          return Returned{memory.data()[firsts[i]].bytes, static_cast<uint32_t>(frames[i].size())};
        });
  }

  /// Fetches a batch and returns its frames; each is padded with zeros to whole flits.
  std::vector<Bytes> Fetch(bool put_back = false) {
    Wire& wire = card_->wire;
    const Batch batch = FetchBatch(*card_, wire, shape(), 0, 1);
    if (batch.count == 0) return {};
    std::vector<Bytes> fetched;
    for (uint32_t i = 0; i < batch.count; ++i) {
      const RingFrame& frame = frames_[EntryOf(shape(), batch, i)];
      const uint8_t* const data = shape().data + size_t{frame.flit} * kFlitBytes;
      lengths.push_back(frame.length);
      fetched.emplace_back(data, data + (frame.length + kFlitBytes - 1) / kFlitBytes * kFlitBytes);
    }
    if (put_back) PutBack(wire, batch);
    EndTurn(&wire.reserved, batch.ticket);
    EndPublish(wire, shape(), batch, put_back ? 0 : batch.count);
    return fetched;
  }
  WireShape& shape() { return card_->wire.shape; }
  uint64_t full() const {
    return card_->counters.wire[static_cast<uint32_t>(WireEvent::kLoopbackFull)];
  }

  std::vector<uint32_t> lengths;

 private:
  struct alignas(kFlitBytes) Flit {
    uint8_t bytes[kFlitBytes];
  };
  std::unique_ptr<Card> card_;
  std::vector<RingFrame> frames_;
  std::vector<Flit> data_;
};

Bytes Padded(Bytes frame) {
  frame.resize((std::max<size_t>(frame.size(), 60) + kFlitBytes - 1) / kFlitBytes * kFlitBytes);
  return frame;
}

TEST(CardLoopback, KeepsOrderAndBytesWhileTheRingWraps) {
  Ring ring;
  std::mt19937 random(1);
  std::deque<Bytes> expected;
  uint32_t received = 0;
  while (received < 3 * kLoopEntries) {
    std::vector<Bytes> frames;
    for (uint32_t i = random() % 300; i != 0; --i) {
      Bytes& frame = frames.emplace_back(random() % 20 == 0 ? random() % 9728 : random() % 200);
      for (uint8_t& byte : frame) byte = static_cast<uint8_t>(random());
      if (!frame.empty()) expected.push_back(Padded(frame));
    }
    ring.Send(frames);
    for (uint32_t turns = random() % 6; turns != 0; --turns) {
      const bool put_back = random() % 4 == 0;
      const std::vector<Bytes> batch = ring.Fetch(put_back);
      size_t flits = 0;
      for (size_t i = 0; i < batch.size(); ++i) {
        ASSERT_EQ(batch[i], expected[i]);
        flits += batch[i].size() / kFlitBytes;
      }
      ASSERT_LE(flits, kBatchFlits);
      ASSERT_EQ(batch.empty(), expected.empty());
      if (put_back) continue;
      expected.erase(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(batch.size()));
      received += static_cast<uint32_t>(batch.size());
    }
  }
  EXPECT_EQ(ring.full(), 0u);
}

TEST(CardLoopback, DropsAndCountsFramesOfAFullRing) {
  Ring ring;
  std::vector<Bytes> frames;
  for (uint32_t i = 0; i < 3000; ++i) {
    frames.push_back(Bytes(60));
    std::memcpy(frames.back().data(), &i, sizeof(i));
  }
  ring.Send(frames);
  ring.Send(frames);
  EXPECT_EQ(ring.full(), 6000 - kLoopEntries);
  std::vector<Bytes> all;
  for (std::vector<Bytes> batch; !(batch = ring.Fetch()).empty();) {
    all.insert(all.end(), batch.begin(), batch.end());
  }
  ASSERT_EQ(all.size(), kLoopEntries);
  for (uint32_t i = 0; i < kLoopEntries; ++i) ASSERT_EQ(all[i], Padded(frames[i % 3000])) << i;
  ring.Send({frames[7]});
  EXPECT_EQ(ring.Fetch(), std::vector<Bytes>(1, Padded(frames[7])));
}

// The Ethernet minimum is 60 bytes without FCS (IEEE 802.3, 4A.4.2).
TEST(CardLoopback, PadsShortFrames) {
  Ring ring;
  ring.Send({Bytes(14, 1), Bytes(59, 2), Bytes(60, 3), Bytes(61, 4)});
  ring.Fetch();
  EXPECT_EQ(ring.lengths, (std::vector<uint32_t>{60, 60, 60, 61}));
}

TEST(CardLoopback, FetchesAFrameThatIsLongerThanABatch) {
  Ring ring;
  ring.shape().batch_flits = 10;
  ring.Send({Bytes(640, 1), Bytes(640, 2), Bytes(641, 3), Bytes(64, 4), Bytes(576, 5)});
  EXPECT_EQ(ring.Fetch().size(), 1u);
  EXPECT_EQ(ring.Fetch().size(), 1u);
  EXPECT_EQ(ring.Fetch().size(), 1u);
  EXPECT_EQ(ring.Fetch().size(), 2u);
}

}  // namespace
}  // namespace sluice::device::grid
