// SPDX-License-Identifier: BSD-3-Clause
#include "card_nic.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/grid/enso_blocks.h"
#include "emulator/enso_model.h"
#include "emulator/grid/enso_program.h"
#include "host.h"

namespace sluice::device::grid {
namespace {

using enso::Event;

uint64_t now_ns = 1;

/// The frames that a card has assembled and is about to process.
struct Sending {
  const EnsoFrameMemory* memory = nullptr;
  std::vector<uint8_t> stream;
};
Sending sending;

}  // namespace

void SetCardClock(uint64_t ns) { now_ns = ns; }

/// Called when a card reads the clock, which it does after it has split the bytes into frames. The
/// bytes are copied here, because the card overwrites them later.
uint64_t NowNs() {
  if (sending.memory != nullptr && sending.stream.empty()) {
    const uint8_t* const begin = sending.memory->stream;
    sending.stream.assign(begin, begin + uint64_t{sending.memory->total} * kFlitBytes);
  }
  return now_ns;
}
uint64_t Cycles() { return now_ns; }
void Relax() { ADD_FAILURE() << "a block waits for another one"; }

/// Staging memory of the card. Untouched pages use no physical memory.
struct CardNic::Staging {
  const size_t kBytes = emulator::kEnsoProgram.staging_bytes;
  Staging()
      : memory(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Staging() { munmap(memory, kBytes); }
  void* memory;
};

CardNic::CardNic(const bar::DmaSpace& dma, const enso::EnsoConfig& config)
    : dma_(dma), card_(std::make_unique<EnsoCard>()), staging_(std::make_unique<Staging>()) {
  const emulator::GridProgram& program = emulator::kEnsoProgram;
  for (Block* block : {&registers_, &receiver_, &sender_, &framer_}) {
    block->memory.resize(program.block_bytes / sizeof(std::max_align_t) + 1);
  }
  const bar::PostedQueue::Layout layout = bar::PostedQueue::GetLayout();
  card_->control = control_.get();
  card_->report = report_.get();
  card_->queue = reinterpret_cast<uint8_t*>(queue_.get());
  card_->layout = {layout.lanes, layout.lane_bytes,     bar::PostedQueue::kDepth, layout.entries,
                   layout.head,  layout.reply_sequence, layout.reply_value};
  card_->wire.shape.largest = regs::enso::kMaxRxFlits;
  const auto settings =
      emulator::EnsoSettings(config.pipe_flits, config.nb_entries, config.notify_per_packet);
  const char* const wrong =
      program.reset(*card_, settings, static_cast<uint8_t*>(staging_->memory));
  EXPECT_EQ(wrong, nullptr);
  card_->wire.shape.verify = 0;
  control_->wire_on = 1;
  dma.SetObserver(this);
}

CardNic::~CardNic() { dma_.SetObserver(nullptr); }

void CardNic::RangesChanged(const std::vector<bar::DmaMapping>& ranges) {
  DmaTable& table = card_->dma;
  table.count = 0;
  for (const bar::DmaMapping& range : ranges) {
    table.ranges[table.count++] = {range.bus, range.bytes, reinterpret_cast<uintptr_t>(range.host)};
  }
  std::sort(table.ranges, table.ranges + table.count,
            [](const DmaRange& a, const DmaRange& b) { return a.bus < b.bus; });
  emulator::kEnsoProgram.find_rings(*card_);
}

void CardNic::RunTurn(uint32_t number, Block& block) {
  TeamMemory memory;
  const Team team(&memory);
  emulator::kEnsoProgram.begin(*card_, kRoles, number, team, block.memory.data());
  emulator::kEnsoProgram.turn(*card_, kRoles, number, team, block.memory.data());
}

uint32_t CardNic::Handled() const {
  uint32_t handled = 0;
  for (uint32_t lane = 0; lane < bar::PostedQueue::kLanes; ++lane) handled += queue_->Head(lane);
  return handled;
}

void CardNic::WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) {
  queue_->Post(offset, bytes, value);
  ++posted_;
  while (Handled() != posted_) RunTurn(0, registers_);
}

uint64_t CardNic::ReadRegister(uint32_t offset, uint32_t bytes) {
  return EnsoRegisters(*card_).Read(offset, bytes);
}

uint32_t CardNic::Receive(std::span<const WireFrame> frames, bool pause) {
  Wire& wire = card_->wire;
  // Frames start at flit boundaries, with zeros after them and free space before them.
  std::vector<RingFrame> ring;
  std::vector<uint64_t> sent_ns(frames.size());
  size_t bytes = kFlitBytes;
  for (const WireFrame& frame : frames) {
    bytes += (size_t{regs::enso::Flits(frame.length)} + 1) * kFlitBytes;
  }
  const std::unique_ptr<uint8_t[], void (*)(uint8_t*)> memory(
      new (std::align_val_t{kFlitBytes}) uint8_t[bytes](),
      [](uint8_t* at) { operator delete[](at, std::align_val_t{kFlitBytes}); });
  uint32_t flit = 1;
  for (const WireFrame& frame : frames) {
    uint8_t* const at = memory.get() + size_t{flit} * kFlitBytes;
    if (frame.length != 0) std::memcpy(at, frame.data, frame.length);
    uint32_t rank = 0;
    std::memcpy(&rank, at + frame.length - kTagBytes, sizeof(rank));
    ring.push_back({flit, frame.length, 0, rank});
    flit += regs::enso::Flits(frame.length) + 1;
  }
  WireShape& shape = wire.shape;
  shape.frames = ring.data();
  shape.data = memory.get();
  shape.sent_ns = sent_ns.data();
  shape.entries = static_cast<uint32_t>(ring.size());
  shape.per_lap = 0;  // Makes the number in a tag the frame's rank.
  shape.limit = frames.size();
  shape.batch_frames = batch_;
  shape.pause = pause ? 1 : 0;
  wire.position = wire.back_position = 0;
  wire.entry = wire.lap = 0;
  card_->wire_on = 1;
  // A batch that was put back is received again from its start.
  const auto position = [&] {
    return wire.epoch != wire.back_epoch ? wire.back_position : wire.position;
  };
  for (uint64_t before = ~uint64_t{0}; before != position() && position() != shape.limit;) {
    before = position();
    RunTurn(1, receiver_);
  }
  const uint64_t taken = position();
  wire.epoch = wire.back_epoch;
  return static_cast<uint32_t>(taken);
}

uint32_t CardNic::Transmit(FrameSink& sink, uint32_t budget) {
  uint64_t sent = 0;
  for (bool moved = true; moved && sent < budget;) {
    moved = false;
    for (uint32_t i = 0; i < card_->listed && sent < budget; ++i) {
      const grid::Counters before = card_->counters;
      RunTurn(1 + kRoles.receivers + 2 * i, sender_);
      sending.memory = &reinterpret_cast<const EnsoMemory*>(framer_.memory.data())->send.frames;
      RunTurn(1 + kRoles.receivers + 2 * i + 1, framer_);
      sending.memory = nullptr;
      const grid::Counters& after = card_->counters;
      constexpr auto kDescriptors = static_cast<uint32_t>(Crossing::kDescriptors);
      constexpr auto kFrames = static_cast<uint32_t>(Event::kTxFrames);
      constexpr auto kBytes = static_cast<uint32_t>(Event::kTxBytes);
      moved |= after.crossings[kDescriptors] != before.crossings[kDescriptors];
      const uint64_t frames = after.model[kFrames] - before.model[kFrames];
      Deliver(frames, after.model[kBytes] - before.model[kBytes], sink);
      sent += frames;
    }
  }
  return static_cast<uint32_t>(sent);
}

/// Splits the bytes that the card read into frames, and compares them with the card's results.
void CardNic::Deliver(uint64_t frames, uint64_t bytes, FrameSink& sink) {
  const std::vector<uint8_t> stream = std::exchange(sending.stream, {});
  uint64_t cut = 0, cut_bytes = 0;
  for (size_t at = 0; at < stream.size();) {
    const uint32_t length = (uint32_t{stream[at + 16]} << 8 | stream[at + 17]) + 14;
    const size_t whole = size_t{regs::enso::Flits(length)} * kFlitBytes;
    if (length > regs::enso::kMaxTxFrameFlits * kFlitBytes || whole > stream.size() - at) break;
    const WireFrame frame = {&stream[at], length};
    sink.Deliver({&frame, 1});
    ++cut;
    cut_bytes += length;
    at += whole;
  }
  EXPECT_EQ(cut, frames);
  EXPECT_EQ(cut_bytes, bytes);
}

std::span<const Counter> CardNic::Counters() {
  counters_.clear();
  for (uint32_t i = 0; i < enso::kEvents; ++i) {
    counters_.push_back({enso::kEventNames[i], card_->counters.model[i]});
  }
  return counters_;
}

}  // namespace sluice::device::grid

namespace sluice::device::enso {

std::unique_ptr<Device> MakeNic(const bar::DmaSpace& dma, const EnsoConfig& config) {
  return std::make_unique<grid::CardNic>(dma, config);
}

}  // namespace sluice::device::enso
