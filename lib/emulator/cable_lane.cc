// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/cable_lane.h"

#include <algorithm>
#include <cstring>

#include "device/copy.h"
#include "emulator/wire.h"

namespace sluice::emulator {
namespace {

/// Distance at which the sender prefetches cache lines for writing. The lines are in the cache of
/// the receiver's processor.
constexpr uint64_t kPrefetchBytes = uint64_t{16} * CableLane::kLine;

constexpr uint64_t Offset(uint64_t position) { return position & (CableLane::kBytes - 1); }

void WriteRecord(uint8_t* record, const device::WireFrame& frame, uint32_t length) {
  std::memcpy(record, &length, sizeof(length));
  device::CopySegment(record + sizeof(length), frame.data, frame.length);
  if (frame.length < length) [[unlikely]] {
    std::memset(record + sizeof(length) + frame.length, 0, length - frame.length);
  }
}

}  // namespace

bool CableSender::HasRoom(uint64_t bytes) {
  if (position_ + bytes - consumed_ <= CableLane::kBytes) [[likely]]
    return true;
  const uint64_t consumed = lane_.consumed.bytes.load(std::memory_order_acquire);
  if (consumed < consumed_ || consumed > position_ || consumed % CableLane::kLine != 0) {
    lied_to_ = true;
    return false;
  }
  consumed_ = consumed;
  return position_ + bytes - consumed_ <= CableLane::kBytes;
}

uint32_t CableSender::Send(std::span<const device::WireFrame> frames) {
  uint32_t done = 0;
  const uint64_t begin = position_;
  for (; done < frames.size() && !lied_to_; ++done) {
    const device::WireFrame& frame = frames[done];
    const uint32_t length = std::max(frame.length, kMinFrameBytes);
    if (length > CableLane::kMaxFrameBytes) [[unlikely]] {
      ++oversize_;
      continue;
    }
    const uint32_t bytes = CableLane::RecordBytes(length);
    const uint64_t to_end = CableLane::kBytes - Offset(position_);
    const uint64_t skipped = to_end < bytes ? to_end : 0;
    if (!HasRoom(skipped + bytes)) break;
    if (skipped != 0) [[unlikely]] {
      constexpr uint32_t kSkip = 0;
      std::memcpy(&lane_.records[Offset(position_)], &kSkip, sizeof(kSkip));
      position_ += skipped;
    }
    __builtin_prefetch(&lane_.records[Offset(position_ + kPrefetchBytes)], 1);
    WriteRecord(&lane_.records[Offset(position_)], frame, length);
    position_ += bytes;
    ++sent_;
  }
  if (position_ != begin) {
    lane_.written.frames.store(sent_, std::memory_order_relaxed);
    lane_.written.bytes.store(position_, std::memory_order_release);
  }
  return done;
}

uint64_t CableSender::InFlight() const {
  return sent_ - std::min(lane_.consumed.frames.load(std::memory_order_relaxed), sent_);
}

std::span<const device::WireFrame> CableReceiver::Pull(uint32_t max) {
  if (first_ == last_) Refill();
  return {frames_.data() + first_, std::min(max, last_ - first_)};
}

void CableReceiver::Refill() {
  static_assert(CableLane::RecordBytes(CableLane::kMaxFrameBytes) <= kStageBytes);
  first_ = last_ = 0;
  const uint64_t published = lane_.written.bytes.load(std::memory_order_acquire) - position_;
  if (published == 0 || lied_to_) return;
  if (published > CableLane::kBytes || published % CableLane::kLine != 0) {
    lied_to_ = true;
    return;
  }
  const uint64_t offset = Offset(position_);
  const uint64_t bytes = std::min({published, uint64_t{kStageBytes}, CableLane::kBytes - offset});
  std::memcpy(stage_.data(), &lane_.records[offset], bytes);
  const uint64_t found = Find(bytes, published);
  if (found == 0) {
    lied_to_ = true;
    last_ = 0;
    return;
  }
  position_ += found;
  consumed_ += last_;
  lane_.consumed.frames.store(consumed_, std::memory_order_relaxed);
  lane_.consumed.bytes.store(position_, std::memory_order_release);
}

uint64_t CableReceiver::Find(uint64_t bytes, uint64_t published) {
  const uint64_t to_end = CableLane::kBytes - Offset(position_);
  uint64_t at = 0;
  while (at < bytes) {
    const uint8_t* const record = stage_.data() + at;
    uint32_t length;
    std::memcpy(&length, record, sizeof(length));
    if (length == 0) return published >= to_end ? to_end : 0;
    if (length < kMinFrameBytes || length > CableLane::kMaxFrameBytes) return 0;
    const uint32_t record_bytes = CableLane::RecordBytes(length);
    if (at + record_bytes > std::min(published, to_end)) return 0;
    if (at + record_bytes > bytes) break;
    frames_[last_++] = {record + sizeof(length), length};
    at += record_bytes;
  }
  return at;
}

uint64_t CableReceiver::InFlight() const {
  const uint64_t sent = lane_.written.frames.load(std::memory_order_relaxed);
  const uint64_t in_ring = sent > consumed_ ? sent - consumed_ : 0;
  // The sender's position is not trusted, so the value is limited to the ring's capacity.
  return last_ - first_ + std::min(in_ring, CableLane::kBytes / CableLane::kLine);
}

}  // namespace sluice::emulator
