// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/verify.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice::emulator {
namespace {

/// Total number of bits for all flows: 1 MiB. Each flow gets at least 64 bits.
constexpr uint64_t kTotalBits = uint64_t{1} << 23;

}  // namespace

TagVerifier::TagVerifier(const FrameRing& ring, VerifyMode mode)
    : ring_(ring),
      mode_(mode),
      nonce_(ring.nonce()),
      window_(std::clamp<uint64_t>(std::bit_floor(kTotalBits / ring.flows()), 64, 1u << 16)),
      expected_(ring.expected().begin(), ring.expected().end()),
      flows_(ring.flows()),
      bits_(ring.flows() * window_ / 64),
      until_sample_(mode == VerifyMode::kFull ? 0 : kSampleInterval - 1) {
  expected_.resize(std::bit_ceil(expected_.size()), {0, 0});
  index_mask_ = static_cast<uint32_t>(expected_.size() - 1);
}

void TagVerifier::Check(std::span<const device::WireFrame> frames, WireTotals& totals) {
  if (mode_ == VerifyMode::kOff) {
    totals.recognised += frames.size();
    return;
  }
  CheckTags(frames, totals);
  const uint32_t interval = mode_ == VerifyMode::kFull ? 1 : kSampleInterval;
  size_t next = until_sample_;
  for (; next < frames.size(); next += interval) CheckBytes(frames[next], totals);
  until_sample_ = static_cast<uint32_t>(next - frames.size());
}

inline const FrameRing::Expected* TagVerifier::Identify(const device::WireFrame& frame,
                                                        Tag& tag) const {
  if (frame.length < kTagBytes) [[unlikely]]
    return nullptr;
  tag = Tag::Load(frame.data + frame.length - kTagBytes);
  // The table size is a power of two and unused entries have length 0, so that one comparison is
  // sufficient for every index.
  const FrameRing::Expected& expected = expected_[tag.index & index_mask_];
  if ((tag.Damage(nonce_) | (expected.length ^ frame.length)) != 0) [[unlikely]]
    return nullptr;
  return &expected;
}

void TagVerifier::CheckTags(std::span<const device::WireFrame> frames, WireTotals& totals) {
  Flow* const flows = flows_.data();
  uint64_t in_order = 0;
  for (const device::WireFrame& frame : frames) {
    Tag tag;
    const FrameRing::Expected* expected = Identify(frame, tag);
    if (expected == nullptr) [[unlikely]] {
      Blame(frame, totals);
      continue;
    }
    Flow& flow = flows[expected->flow];
    if (static_cast<uint32_t>(flow.next) == tag.sequence) [[likely]] {
      ++flow.next;
      ++in_order;
    } else {
      CheckOutOfOrder(expected->flow, tag.sequence, totals);
    }
  }
  totals.recognised += in_order;
}

[[gnu::noinline]] void TagVerifier::Blame(const device::WireFrame& frame,
                                          WireTotals& totals) const {
  const bool foreign = frame.length >= kTagBytes &&
                       Tag::Load(frame.data + frame.length - kTagBytes).IsForeign(nonce_);
  ++(foreign ? totals.foreign : totals.corrupted);
}

void TagVerifier::CheckBytes(const device::WireFrame& frame, WireTotals& totals) {
  Tag tag;
  if (Identify(frame, tag) == nullptr) return;  // CheckTags counts this case.
  ++totals.verified;
  const device::WireFrame& sent = ring_.frames()[tag.index & index_mask_];
  const uint32_t from = ring_.invariant_offset();
  if (std::memcmp(frame.data + from, sent.data + from, frame.length - kTagBytes - from) != 0) {
    ++totals.corrupted;
  }
}

void TagVerifier::CheckOutOfOrder(uint32_t flow, uint32_t sequence, WireTotals& totals) {
  const Flow& state = flows_[flow];
  const int32_t ahead = static_cast<int32_t>(sequence - static_cast<uint32_t>(state.next));
  if (ahead > 0) {
    OpenGap(flow, state.next + static_cast<uint32_t>(ahead), totals);
    return;
  }
  const uint64_t behind = static_cast<uint64_t>(-static_cast<int64_t>(ahead));
  if (behind <= state.next - state.dense) {
    ++totals.duplicated;
    return;
  }
  if (behind > std::min(window_, state.next)) {
    ++totals.late;
    return;
  }
  const uint64_t late = state.next - behind;
  uint64_t& word = Word(flow, late);
  const uint64_t bit = uint64_t{1} << (late % 64);
  if ((word & bit) != 0) {
    ++totals.duplicated;
    return;
  }
  word |= bit;
  ++totals.reordered;
  ++totals.recognised;
  --totals.gaps;
}

void TagVerifier::OpenGap(uint32_t flow, uint64_t sequence, WireTotals& totals) {
  Flow& state = flows_[flow];
  // Bits older than the window are overwritten before they are read.
  const uint64_t oldest = sequence > window_ ? sequence - window_ : 0;
  for (uint64_t s = std::max(state.dense, oldest); s < state.next; ++s) {
    Word(flow, s) |= uint64_t{1} << (s % 64);
  }
  for (uint64_t s = std::max(state.next, oldest); s < sequence; ++s) {
    Word(flow, s) &= ~(uint64_t{1} << (s % 64));
  }
  totals.gaps += sequence - state.next;
  ++totals.recognised;
  state.dense = sequence;
  state.next = sequence + 1;
}

}  // namespace sluice::emulator
