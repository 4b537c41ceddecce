// SPDX-License-Identifier: BSD-3-Clause
#include "ipu_card_nic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "device/grid/ipu_blocks.h"
#include "emulator/grid/ipu_program.h"
#include "regs/ipu.h"

namespace sluice::device::grid {
namespace {

uint64_t now_ns = 0;

/// A frame that a receive block processes: the copy that the card reads, and the test's original.
struct Untagged {
  uint8_t* card;
  const WireFrame* frame;
};
std::vector<Untagged> untagged;

}  // namespace

/// Called when a card reads the clock, between the phases of a turn: after it has written the tags
/// of frames, and before it copies them. Restores the bytes that the tags replaced.
uint64_t NowNs() {
  for (const Untagged& one : untagged) std::memcpy(one.card, one.frame->data, one.frame->length);
  return now_ns;
}
uint64_t Cycles() { return NowNs(); }
void Relax() { ADD_FAILURE() << "a block waits for another one"; }

IpuCardNic::IpuCardNic(const bar::DmaSpace& dma) : dma_(dma), card_(std::make_unique<IpuCard>()) {
  now_ns = 0;
  const emulator::GridProgram& program = emulator::kIpuProgram;
  // Fresh pages are allocated when they are used.
  staging_.reset(static_cast<uint8_t*>(std::calloc(program.staging_bytes + kFlitBytes, 1)));
  for (Block* block : {&registers_, &receiver_, &sender_, &exchanger_}) {
    block->memory.resize(program.block_bytes / sizeof(std::max_align_t) + 1);
  }
  const bar::PostedQueue::Layout layout = bar::PostedQueue::GetLayout();
  card_->control = control_.get();
  card_->report = report_.get();
  card_->queue = reinterpret_cast<uint8_t*>(queue_.get());
  card_->layout = {layout.lanes, layout.lane_bytes,     bar::PostedQueue::kDepth, layout.entries,
                   layout.head,  layout.reply_sequence, layout.reply_value};
  card_->wire.shape.largest = Flits(regs::ipu::kMaxFrameBytes);
  card_->wire.shape.verify = 0;
  card_->wire.shape.batch_frames = kBatchFlits / card_->wire.shape.largest;
  auto* const staging = reinterpret_cast<uint8_t*>(
      (reinterpret_cast<uintptr_t>(staging_.get()) + kFlitBytes - 1) / kFlitBytes * kFlitBytes);
  EXPECT_EQ(program.reset(*card_, {}, staging), nullptr);
  control_->wire_on = 1;
  dma.SetObserver(this);
}

IpuCardNic::~IpuCardNic() { dma_.SetObserver(nullptr); }

void IpuCardNic::SetTime(uint64_t ns) { now_ns = ns; }

void IpuCardNic::RangesChanged(const std::vector<bar::DmaMapping>& ranges) {
  DmaTable& table = card_->dma;
  table.count = 0;
  for (const bar::DmaMapping& range : ranges) {
    table.ranges[table.count++] = {range.bus, range.bytes, reinterpret_cast<uintptr_t>(range.host)};
  }
  std::sort(table.ranges, table.ranges + table.count,
            [](const DmaRange& a, const DmaRange& b) { return a.bus < b.bus; });
  emulator::kIpuProgram.find_rings(*card_);
  // A reset stops all blocks.
  registers_.begun = receiver_.begun = sender_.begun = exchanger_.begun = false;
}

void IpuCardNic::RunTurn(uint32_t number, Block& block) {
  TeamMemory memory;
  const Team team(&memory);
  if (!block.begun) {
    emulator::kIpuProgram.begin(*card_, kRoles, number, team, block.memory.data());
  }
  block.begun = true;
  emulator::kIpuProgram.turn(*card_, kRoles, number, team, block.memory.data());
}

void IpuCardNic::WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) {
  queue_->Post(offset, bytes, value);
  ++posted_;
  const auto handled = [this] {
    uint32_t sum = 0;
    for (uint32_t lane = 0; lane < bar::PostedQueue::kLanes; ++lane) sum += queue_->Head(lane);
    return sum;
  };
  while (handled() != posted_) RunTurn(0, registers_);
}

uint64_t IpuCardNic::ReadRegister(uint32_t offset, uint32_t bytes) {
  return IpuRegisters(*card_).Read(offset, bytes);
}

uint32_t IpuCardNic::Receive(std::span<const WireFrame> frames, bool pause) {
  Wire& wire = card_->wire;
  // Frames start at flit boundaries, with zeros after them and free space before them.
  size_t flits = 1;
  for (const WireFrame& frame : frames) flits += Flits(frame.length) + 1;
  const std::unique_ptr<uint8_t[], void (*)(uint8_t*)> memory(
      new (std::align_val_t{kFlitBytes}) uint8_t[flits * kFlitBytes](),
      [](uint8_t* at) { operator delete[](at, std::align_val_t{kFlitBytes}); });
  std::vector<RingFrame> ring;
  std::vector<uint64_t> sent_ns(frames.size());
  uint32_t flit = 1;
  for (const WireFrame& frame : frames) {
    uint8_t* const at = memory.get() + size_t{flit} * kFlitBytes;
    std::memcpy(at, frame.data, frame.length);
    untagged.push_back({at, &frame});
    // Uses the tag in the test's frame if there is one, because the steering of small frames
    // depends on it.
    uint32_t rank = 0;
    std::memcpy(&rank, at + frame.length - kTagBytes, sizeof(rank));
    ring.push_back({flit, frame.length, 0, rank});
    flit += Flits(frame.length) + 1;
  }
  WireShape& shape = wire.shape;
  shape.frames = ring.data();
  shape.data = memory.get();
  shape.sent_ns = sent_ns.data();
  shape.entries = static_cast<uint32_t>(ring.size());
  shape.per_lap = 0;  // Makes the number in a tag the frame's rank.
  shape.limit = frames.size();
  shape.batch_frames = card_->settings.batch_frames;
  shape.pause = pause ? 1 : 0;
  wire.position = wire.back_position = 0;
  wire.entry = wire.lap = 0;
  card_->wire_on = 1;
  receiver_.begun = false;  // The receiver has a copy of the old shape.
  for (uint32_t queue = 0; queue < kIpuQueues; ++queue) {
    // Frames are sent by Transmit.
    if (card_->links[queue].end.sending == IpuLinkEnd::kNone) Exchange(queue);
  }
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
  untagged.clear();
  ServeEndpoints();
  return static_cast<uint32_t>(taken);
}

uint32_t IpuCardNic::Transmit(FrameSink& sink, uint32_t budget) {
  ServeEndpoints();
  uint32_t sent = DeliverExchanged(sink);
  for (bool moved = true; moved && sent < budget;) {
    moved = false;
    for (uint32_t queue = 0; queue < kIpuQueues && sent < budget; ++queue) {
      const uint32_t head = card_->tx[queue].head;
      RunTurn(1 + kRoles.receivers + queue, sender_);
      EXPECT_EQ(card_->tx[queue].busy, 0u);
      const uint32_t done = card_->tx[queue].head - head;
      if (done == 0) continue;
      moved = true;
      sent += Deliver(queue, done, sink);
    }
    for (uint32_t queue = 0; queue < kIpuQueues && sent < budget; ++queue) {
      moved |= Exchange(queue);
      sent += DeliverExchanged(sink);
    }
  }
  return sent;
}

uint32_t IpuCardNic::DeliverExchanged(FrameSink& sink) {
  for (const std::string& bytes : exchanged_) {
    const WireFrame frame = {reinterpret_cast<const uint8_t*>(bytes.data()),
                             static_cast<uint32_t>(bytes.size())};
    sink.Deliver({&frame, 1});
  }
  const auto sent = static_cast<uint32_t>(exchanged_.size());
  exchanged_.clear();
  return sent;
}

void IpuCardNic::KeepSent(uint32_t queue, const IpuSentMemory& memory, uint32_t count) {
  const uint8_t* const staging = ExchangeStaging(*card_, queue);
  for (uint32_t i = 0; i < count; ++i) {
    if (memory.lengths[i] == 0) continue;
    const uint8_t* const frame = staging + size_t{memory.before[i]} * kFlitBytes;
    exchanged_.emplace_back(reinterpret_cast<const char*>(frame), memory.lengths[i]);
  }
}

void IpuCardNic::ServeEndpoints() {
  auto& exchange = *reinterpret_cast<IpuExchangeMemory*>(exchanger_.memory.data());
  EndpointMemory& memory = exchange.endpoints;
  for (uint32_t queue = 0; queue < kIpuQueues; ++queue) {
    // The first turn loads the state; the second one serves the host.
    for (uint32_t turn = 0; HasEndpoint(*card_, queue) && turn < 4; ++turn) {
      memory.frames = 0;
      RunTurn(1 + kRoles.receivers + kRoles.senders + queue, exchanger_);
      EXPECT_EQ(card_->gates[queue].busy, 0u);
      EXPECT_TRUE(std::equal(memory.bytes, memory.bytes + memory.frames, exchange.sent.lengths))
          << "more frames than the staging memory holds";
      KeepSent(queue, exchange.sent, memory.frames);
    }
  }
}

void IpuCardNic::HostDied(FrameSink& /*sink*/) {
  emulator::kIpuProgram.host_died(*card_);
  exchanger_.begun = false;
}

bool IpuCardNic::Exchange(uint32_t queue) {
  if (!card_->gates[queue].has(IpuExchange::kLink)) return false;
  const uint64_t swaps = card_->counters.model[regs::ipu::kStatLinkSwaps];
  auto& memory = *reinterpret_cast<IpuExchangeMemory*>(exchanger_.memory.data());
  memory.link.sent = 0;
  RunTurn(1 + kRoles.receivers + kRoles.senders + queue, exchanger_);
  EXPECT_EQ(card_->gates[queue].busy, 0u);
  EXPECT_EQ(card_->links[queue].lock, 0u);
  KeepSent(queue, memory.sent, memory.link.sent);
  return memory.link.sent != 0 || swaps != card_->counters.model[regs::ipu::kStatLinkSwaps];
}

uint32_t IpuCardNic::Deliver(uint32_t queue, uint32_t done, FrameSink& sink) const {
  const auto& memory = *reinterpret_cast<const IpuTransmitMemory*>(sender_.memory.data());
  const uint8_t* const staging = card_->staging + size_t{queue} * kIpuStagingBytes;
  uint32_t handled = 0;
  for (; memory.firsts[handled] != done; ++handled) {
    const WireFrame frame = {staging + size_t{memory.before[handled]} * kFlitBytes,
                             memory.lengths[handled]};
    if (frame.length != 0) sink.Deliver({&frame, 1});
  }
  return handled;
}

std::span<const Counter> IpuCardNic::Counters() {
  counters_.clear();
  for (uint32_t i = 0; i < regs::ipu::kStatisticCount; ++i) {
    counters_.push_back({regs::ipu::kStatisticNames[i], card_->counters.model[i]});
  }
  return counters_;
}

}  // namespace sluice::device::grid
