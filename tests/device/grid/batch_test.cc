// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the cases in which a card handles a batch of frames differently from the CPU's model, which
// handles single packets (docs/gpu.md).
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "card_nic.h"
#include "device/grid/wire.h"
#include "vector_bench.h"

namespace sluice::device::enso {
namespace {

void Batch(Host& host) { static_cast<grid::CardNic&>(*host.nic).SetBatch(grid::kBatchFrames); }

TEST(CardBatch, IsNotifiedOnceForEachPipe) {
  VectorBench nic;
  Batch(nic);
  nic.Enable(5);
  nic.Enable(6);
  std::vector<Bytes> frames;
  for (const uint16_t pipe : {6, 5, 6, 5, 5}) {
    frames.push_back(MakeFrame(100, {.dst_port = pipe}, static_cast<uint8_t>(frames.size())));
  }
  Play(nic, {{"a batch", [&](VectorBench& n) { return n.Arrive(frames); },
              "N[0]{5,6} N[1]{6,4} D(5,0..5) D(6,0..3)"}});
  Play(nic, {
                {"another", Packets(5, 1, 3), "D(5,6..8)"},
                {"head", Head(5, 6), "N[2]{5,9}"},
            });
}

TEST(CardBatch, KeepsTheOrderOfEachPipesFrames) {
  Host host({.pipe_flits = 1024, .nb_entries = 32});
  Batch(host);
  host.OpenFallback(4, 3);
  std::mt19937 random(3);
  std::vector<Bytes> frames;
  std::map<uint32_t, std::vector<Bytes>> expected;
  for (uint32_t i = 0; i < 300; ++i) {
    const uint32_t pipe = random() % 4;
    frames.push_back(MakeFrame(60 + random() % 100, {.dst_port = static_cast<uint16_t>(pipe)},
                               static_cast<uint8_t>(i)));
    expected[pipe].push_back(frames.back());
  }
  for (uint32_t pipe = 0; pipe < 4; ++pipe) {
    host.Bind(static_cast<uint16_t>(pipe), 0, kDst, 0, pipe);
  }
  ASSERT_EQ(host.ReceiveAll(frames), frames.size());
  for (uint32_t pipe = 0; pipe < 4; ++pipe) {
    uint32_t flit = 0;
    for (const Bytes& frame : expected[pipe]) {
      EXPECT_EQ(std::memcmp(host.Flit(pipe, flit), frame.data(), frame.size()), 0) << pipe;
      flit += Flits(static_cast<uint32_t>(frame.size()));
    }
    EXPECT_EQ(host.Tail(pipe), flit);
  }
}

TEST(CardBatch, ThatFillsAPipeIsNotifiedThoughItsLastFramesAreDropped) {
  VectorBench nic({.pipe_flits = 16, .nb_entries = 16});
  Batch(nic);
  nic.Enable(5);
  Play(nic, {{"3a", Packets(5, 1, /*count=*/20), "N[0]{5,15} D(5,0..14)"}});
  EXPECT_EQ(nic.Count("rx_pipe_full"), 5u);
  Play(nic, {{"3b", Head(5, 15), ""}, {"again", Packets(5, 1, 2), "N[1]{5,1} D(5,15) D(5,0)"}});
}

TEST(CardBatch, WaitsWholeWithPause) {
  Host host({.pipe_flits = 64, .nb_entries = 32});
  Batch(host);
  host.OpenFallback(1, 0);
  const std::vector<Bytes> frames(40, MakeFrame(64));
  EXPECT_EQ(host.ReceiveAll(frames, /*pause=*/true), 40u);
  EXPECT_EQ(host.ReceiveAll(frames, /*pause=*/true), 0u) << "23 would fit";
  EXPECT_EQ(host.Count("rx_pipe_full"), 0u);
  host.StoreHead(0, 40);
  EXPECT_EQ(host.ReceiveAll(frames, /*pause=*/true), 40u);
  EXPECT_EQ(host.Tail(0), 16u);
}

// A transfer of two chunks. The host shortens its slot after the card has read the first chunk.
TEST(CardTransfer, EndsWhereAShortenedSlotEnds) {
  Host host({.pipe_flits = 64, .nb_entries = 32});
  host.OpenNb(0);
  const uint32_t slot = host.Send(0, std::vector<Bytes>(2 * grid::kChunkFlits, MakeFrame(60)));
  auto& nic = static_cast<grid::CardNic&>(*host.nic);
  const auto read = [&] {
    return nic.card().counters.crossings[static_cast<uint32_t>(grid::Crossing::kPayloadFromHost)];
  };
  nic.Transmit(host.wire, 1);
  const uint64_t first_chunk = read();
  EXPECT_GT(first_chunk, 0u);
  const uint32_t shortened = kFlitBytes;
  std::memcpy(host.At(host.tx_ring(0) + slot * kFlitBytes + 16), &shortened, sizeof(shortened));
  host.Transmit();
  EXPECT_EQ(read(), first_chunk);
  EXPECT_EQ(host.Count("tx_frames"), grid::kChunkFlits);
}

TEST(CardSource, FetchesSmallBatchesOneByOneAndRemembersWhenTheirFramesWereDue) {
  const auto card = std::make_unique<grid::EnsoCard>();
  grid::Wire& wire = card->wire;
  card->wire_on = 1;
  wire.shape.entries = 100;
  wire.shape.batch_frames = 16;
  wire.shape.per_ns = 1.0 / 1024;
  constexpr uint64_t kStart = 1 << 20;
  const auto fetch = [&](uint64_t ns) {
    grid::SetCardClock(kStart + ns);
    return grid::FetchBatch(*card, wire, wire.shape, 0, 1);
  };
  EXPECT_EQ(fetch(0).count, 0u);
  const grid::Batch first = fetch(3 * 1024 + 512);
  EXPECT_EQ(first.count, 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(grid::SentNs(wire.shape, first, i), kStart + (i + 1) * 1024) << i;
  }
  EXPECT_EQ(fetch(5 * 1024).count, 0u) << "the first batch has not reserved its room";
  EXPECT_EQ(fetch(19 * 1024).count, 16u) << "a full batch does not wait";
  EXPECT_EQ(fetch(20 * 1024).count, 0u);
  wire.reserved = 2;
  const grid::Batch last = fetch(22 * 1024);
  EXPECT_EQ(last.count, 3u);
  EXPECT_EQ(grid::SentNs(wire.shape, last, 0), kStart + 20 * 1024);
  grid::SetCardClock(1);
}

// A driver that stores a pipe's head only after a notification gets every frame, even if its pipes
// were full.
TEST(CardBatch, NoPipeIsForgotten) {
  constexpr uint32_t kPipes = 4, kEntries = 64;
  Host host({.pipe_flits = 32, .nb_entries = kEntries});
  Batch(host);
  host.OpenFallback(kPipes, kPipes - 1);
  std::mt19937 random(5);
  uint32_t head = 0;  // Head of the notification ring.
  for (uint32_t round = 0; round < 5'000; ++round) {
    std::vector<Bytes> frames;
    for (uint32_t i = 1 + random() % 100; i != 0; --i) {
      frames.push_back(MakeFrame(random() % 4 == 0 ? 60 + random() % 600 : 60,
                                 {.dst_ip = kDst + static_cast<uint32_t>(random() % 8)}));
    }
    host.ReceiveAll(frames);
    while (head != host.NbTail(0)) {
      const RxNotification note = host.Slot(0, head);
      head = (head + 1) % kEntries;
      host.Write32(NbPage(0) + kRxHead, head);
      host.StoreHead(static_cast<uint32_t>(note.pipe), static_cast<uint32_t>(note.tail));
    }
    for (uint32_t pipe = 0; pipe < kPipes; ++pipe) {
      ASSERT_EQ(host.Read32(PipePage(pipe) + kRxHead), host.Tail(pipe)) << pipe << ", " << round;
    }
  }
  EXPECT_GT(host.Count("rx_pipe_full"), 10'000u);
  EXPECT_GT(host.Count("rx_frames"), 50'000u);
}

}  // namespace
}  // namespace sluice::device::enso
