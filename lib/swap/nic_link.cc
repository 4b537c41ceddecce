// SPDX-License-Identifier: BSD-3-Clause
#include "swap/nic_link.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "bar/load_once.h"

namespace sluice::swap {
NicLink::NicLink(LinkMemory memory, Responder end)
    : memory_(memory),
      geometry_(memory.geometry()),
      max_frame_(std::min(kMaxFrameBytes, geometry_.region_bytes - geometry_.DataOffset() -
                                              geometry_.headroom_bytes)),
      window_(memory.header().nic_line, memory.header().host_line),
      port_(window_, 0, end) {}

std::unique_ptr<NicLink> NicLink::Open(std::span<uint8_t> memory, uint16_t epoch) {
  const LinkMemory link = LinkMemory::Find(memory);
  // The host always owns exactly one region.
  if (!link || !IsOneRegion(link.Owners(), link.geometry())) return nullptr;
  bar::Line line;
  bar::ReadLine(link.header().nic_line, line);
  const Message own = Decode(line);
  std::unique_ptr<NicLink> end(new NicLink(link, Resumable(own)
                                                     ? Responder::Resume(kTwoMessage, epoch, own)
                                                     : Responder(kTwoMessage, epoch, 1)));
  end->Recover();
  return end;
}

void NicLink::Recover() {
  const uint64_t all = ~uint64_t{0} >> (kMaxRegions - geometry_.regions);
  mine_ = all & ~memory_.Owners();
  std::array<uint64_t, kMaxRegions> sequences{};
  for (uint64_t left = mine_; left != 0; left &= left - 1) {
    const auto id = static_cast<uint32_t>(std::countr_zero(left));
    RegionHeader& header = memory_.region(id).header();
    const RegionKind kind = bar::LoadOnce(header.kind);
    const uint32_t count = bar::LoadOnce(header.count);
    const uint32_t cursor = bar::LoadOnce(header.cursor);
    const bool filled = count > 0 && count <= geometry_.max_frames;
    if (filled && kind == RegionKind::kToSend && cursor < count && sending_ == kNone) {
      sending_ = id;
      send_at_ = cursor;
      send_count_ = count;
    } else if (filled && kind == RegionKind::kReceived) {
      full_[full_count_++] = static_cast<uint8_t>(id);
      sequences[id] = bar::LoadOnce(header.sequence);
      sequence_ = std::max(sequence_, sequences[id] + 1);
    } else {
      Free(id);
    }
  }
  std::sort(full_.begin(), full_.begin() + full_count_,
            [&](uint8_t left, uint8_t right) { return sequences[left] < sequences[right]; });
}

// These stores may be in any order, because either one marks the region as free.
void NicLink::Free(uint32_t region) {
  RegionHeader& header = memory_.region(region).header();
  std::atomic_ref(header.count).store(0, std::memory_order_relaxed);
  std::atomic_ref(header.kind).store(RegionKind::kFree, std::memory_order_relaxed);
  free_[free_count_++] = static_cast<uint8_t>(region);
}

// ---------------------------------------------------------------- receive

bool NicLink::StartRegion() {
  if (filler_) full_[(full_head_ + full_count_++) % kMaxRegions] = filler_.region();
  filler_ = Filler();
  if (free_count_ == 0) return false;
  const Region region = memory_.region(free_[--free_count_]);
  RegionHeader& header = region.header();
  header.sequence = sequence_++;
  // The kind is stored after the count, so that a later device never finds old frames in this
  // region.
  std::atomic_ref(header.count).store(0, std::memory_order_relaxed);
  std::atomic_ref(header.kind).store(RegionKind::kReceived, std::memory_order_release);
  filler_ = Filler(region, geometry_);
  return true;
}

// ---------------------------------------------------------------- transmit

uint32_t NicLink::DequeueFrames(FrameToSend* frames, uint32_t max) {
  uint32_t taken = 0;
  while (sending_ != kNone && taken == 0) {
    const Region region = memory_.region(sending_);
    if (send_at_ == send_count_) {
      Free(sending_);
      sending_ = kNone;
      break;
    }
    const uint32_t end = send_at_ + std::min(max, send_count_ - send_at_);
    // The cursor is stored before the frames are passed on, so that a later device does not resend
    // them.
    std::atomic_ref(region.header().cursor).store(end, std::memory_order_release);
    // The loop uses local copies, because stores to `frames` may alias members.
    const Geometry geometry = geometry_;
    const Entry* const entries = region.entries();
    uint32_t bad = 0;
    for (uint32_t at = send_at_; at < end; ++at) {
      const Entry entry = bar::LoadOnce(entries[at]);
      if (EntryLength(entry) == 0) continue;
      if (!EntryIsSound(entry, geometry)) {
        ++bad;
        continue;
      }
      frames[taken++] = {region.base + EntryOffset(entry), EntryLength(entry)};
    }
    send_at_ = end;
    bad_entries_ += bad;
  }
  return taken;
}

// ---------------------------------------------------------------- swaps

uint32_t NicLink::Candidate(bool wants_frames) const {
  if (sending_ != kNone) return kNone;
  if (full_count_ > 0) return full_[full_head_];
  if (filler_ && (filler_.count() > 0 || !wants_frames)) return filler_.region();
  if (wants_frames || free_count_ == 0) return kNone;
  return free_[free_count_ - 1];
}

Answer NicLink::Evaluate(const Message& offer, Reply& reply) {
  const Given taken = Given::Of(offer.payload[kGivenWord]);
  if (taken.region >= geometry_.regions || (mine_ & RegionBit(taken.region)) != 0) {
    ++bad_offers_;
    return Answer::kFalse;
  }
  wants_frames_ = offer.key == kWantsFrames;
  const uint32_t given = Candidate(wants_frames_);
  waiting_ = given == kNone;
  if (waiting_) return Answer::kLater;
  const uint32_t frames = bar::LoadOnce(memory_.region(given).header().count);
  reply.payload[kGivenWord] = Given{given, frames}.Word();
  reply.payload[kTakenWord] = offer.payload[kGivenWord];
  return Answer::kTrue;
}

bool NicLink::Serve() {
  const Event event = port_.Poll(*this, waiting_ && Candidate(wants_frames_) != kNone);
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
  } else if (filler_) {
    filler_ = Filler();
  } else {
    --free_count_;
  }
  mine_ = (mine_ & ~RegionBit(given)) | RegionBit(taken);
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
