// SPDX-License-Identifier: BSD-3-Clause
#include "swap/nic_link.h"

#include <algorithm>
#include <atomic>
#include <bit>

namespace sluice::swap {
namespace {

constexpr uint64_t Bit(uint32_t region) { return uint64_t{1} << region; }

uint32_t SlotBytes(uint32_t headroom, uint32_t length) {
  return (headroom + length + kSlotBytes - 1) & ~(kSlotBytes - 1);
}

}  // namespace

NicLink::NicLink(LinkMemory memory, Responder end)
    : memory_(memory),
      geometry_(memory.geometry()),
      window_(memory.header().nic_line, memory.header().host_line),
      port_(window_, 0, end) {}

std::unique_ptr<NicLink> NicLink::Open(std::span<uint8_t> memory, uint16_t epoch) {
  const LinkMemory link = LinkMemory::Find(memory);
  // The host owns one region, always.
  if (!link || std::popcount(link.Owners()) != 1) return nullptr;
  bar::Line line;
  bar::ReadLine(link.header().nic_line, line);
  const Message own = Decode(line);
  std::unique_ptr<NicLink> end(
      new NicLink(link, own.phase == Phase::kNone ? Responder(kTwoMessage, epoch, 1)
                                                  : Responder::Resume(kTwoMessage, epoch, own)));
  end->Recover();
  return end;
}

void NicLink::Recover() {
  const uint64_t all = geometry_.regions == 64 ? ~uint64_t{0} : Bit(geometry_.regions) - 1;
  mine_ = all & ~memory_.Owners();
  for (uint64_t left = mine_; left != 0; left &= left - 1) {
    const auto id = static_cast<uint32_t>(std::countr_zero(left));
    const RegionHeader& header = memory_.region(id).header();
    const bool filled = header.count > 0 && header.count <= geometry_.max_frames;
    if (filled && header.kind == RegionKind::kToSend && header.cursor < header.count &&
        sending_ == kNone) {
      sending_ = id;
      send_at_ = header.cursor;
      send_count_ = header.count;
    } else if (filled && header.kind == RegionKind::kReceived) {
      full_[full_count_++] = static_cast<uint8_t>(id);
      sequence_ = std::max(sequence_, header.sequence + 1);
    } else {
      Free(id);
    }
  }
  std::sort(full_.begin(), full_.begin() + full_count_, [this](uint8_t left, uint8_t right) {
    return memory_.region(left).header().sequence < memory_.region(right).header().sequence;
  });
}

void NicLink::Free(uint32_t region) {
  RegionHeader& header = memory_.region(region).header();
  header.count = 0;
  header.kind = RegionKind::kFree;
  free_[free_count_++] = static_cast<uint8_t>(region);
}

// ---------------------------------------------------------------- receive

uint32_t NicLink::MaxFrame() const {
  return std::min(kMaxFrameBytes,
                  geometry_.region_bytes - geometry_.DataOffset() - geometry_.headroom_bytes);
}

bool NicLink::StartFilling() {
  if (free_count_ == 0) return false;
  filling_ = free_[--free_count_];
  fill_at_ = geometry_.DataOffset();
  fill_count_ = 0;
  RegionHeader& header = memory_.region(filling_).header();
  header.count = 0;
  header.sequence = sequence_++;
  header.kind = RegionKind::kReceived;
  return true;
}

void NicLink::Seal() {
  full_[(full_head_ + full_count_++) % kMaxRegions] = static_cast<uint8_t>(filling_);
  filling_ = kNone;
}

uint8_t* NicLink::Reserve(uint32_t length) {
  const uint32_t slot = SlotBytes(geometry_.headroom_bytes, length);
  if (filling_ != kNone && fill_count_ > 0 &&
      (fill_count_ == geometry_.max_frames || fill_at_ + slot > geometry_.region_bytes)) {
    Seal();
  }
  if (filling_ == kNone && !StartFilling()) return nullptr;
  return memory_.region(filling_).base + fill_at_ + geometry_.headroom_bytes;
}

void NicLink::Publish(uint32_t length) {
  const Region region = memory_.region(filling_);
  region.entries()[fill_count_] = MakeEntry(fill_at_ + geometry_.headroom_bytes, length);
  fill_at_ += SlotBytes(geometry_.headroom_bytes, length);
  ++fill_count_;
  std::atomic_ref(region.header().count).store(fill_count_, std::memory_order_release);
}

// ---------------------------------------------------------------- transmit

uint32_t NicLink::TakeFrames(FrameToSend* frames, uint32_t max) {
  uint32_t taken = 0;
  while (sending_ != kNone && taken == 0) {
    const Region region = memory_.region(sending_);
    if (send_at_ == send_count_) {
      Free(sending_);
      sending_ = kNone;
      break;
    }
    const uint32_t end = send_at_ + std::min(max, send_count_ - send_at_);
    // Before the frames are handed on: a device that comes after this one must not send them.
    std::atomic_ref(region.header().cursor).store(end, std::memory_order_release);
    for (; send_at_ < end; ++send_at_) {
      const Entry entry = region.entries()[send_at_];
      if (EntryLength(entry) == 0) continue;
      if (!EntryIsSound(entry, geometry_)) {
        ++bad_entries_;
        continue;
      }
      frames[taken++] = {region.base + EntryOffset(entry), EntryLength(entry)};
    }
  }
  return taken;
}

// ---------------------------------------------------------------- swaps

uint32_t NicLink::Candidate(bool wants_frames) const {
  if (full_count_ > 0) return full_[full_head_];
  if (filling_ != kNone && (fill_count_ > 0 || !wants_frames)) return filling_;
  if (wants_frames || free_count_ == 0) return kNone;
  return free_[free_count_ - 1];
}

Answer NicLink::Evaluate(const Message& offer, Reply& reply) {
  const Given taken = Given::Of(offer.payload[kGivenWord]);
  if (taken.region >= geometry_.regions || (mine_ & Bit(taken.region)) != 0) {
    ++bad_offers_;
    return Answer::kFalse;
  }
  const uint32_t given = sending_ != kNone ? kNone : Candidate(offer.key == kWantsFrames);
  waiting_ = given == kNone;
  if (waiting_) return Answer::kLater;
  const uint32_t frames = memory_.region(given).header().count;
  reply.payload[kGivenWord] = Given{given, frames}.Word();
  reply.payload[kTakenWord] = offer.payload[kGivenWord];
  return Answer::kTrue;
}

bool NicLink::Serve() {
  const Event event = port_.Poll(*this, waiting_);
  if (event == Event::kNothing) return false;
  waiting_ = false;
  if (event != Event::kCommitted) return false;
  const Payload& exchange = port_.end().line().payload;
  const Given taken = Given::Of(exchange[kTakenWord]);
  Exchange(Given::Of(exchange[kGivenWord]).region, taken.region, taken.frames);
  return true;
}

void NicLink::Exchange(uint32_t given, uint32_t taken, uint32_t frames) {
  if (full_count_ > 0) {
    full_head_ = (full_head_ + 1) % kMaxRegions;
    --full_count_;
  } else if (given == filling_) {
    filling_ = kNone;
  } else {
    --free_count_;
  }
  mine_ = (mine_ & ~Bit(given)) | Bit(taken);
  const uint32_t count = std::min(frames, geometry_.max_frames);
  if (count == 0) {
    Free(taken);
    return;
  }
  sending_ = taken;
  send_at_ = 0;
  send_count_ = count;
}

}  // namespace sluice::swap
