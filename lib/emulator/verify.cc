// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/verify.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice::emulator {
namespace {

/// Bits for all flows together: 1 MiB, and never fewer than 64 a flow.
constexpr uint64_t kTotalBits = uint64_t{1} << 23;

}  // namespace

TagVerifier::TagVerifier(const FrameTemplates& templates, VerifyMode mode)
    : templates_(templates),
      mode_(mode),
      window_(std::clamp<uint64_t>(std::bit_floor(kTotalBits / templates.flows()), 64, 1u << 16)),
      flows_(templates.flows()),
      bits_(templates.flows() * window_ / 64) {}

void TagVerifier::Check(std::span<const device::WireFrame> frames, WireTotals& totals) {
  switch (mode_) {
    case VerifyMode::kOff:
      totals.recognised += frames.size();
      return;
    case VerifyMode::kFull:
      for (const device::WireFrame& frame : frames) {
        if (!CheckTag(frame, totals)) continue;
        ++totals.verified;
        if (!Equal(frame)) ++totals.corrupted;
      }
      return;
    case VerifyMode::kSampled:
      for (const device::WireFrame& frame : frames) {
        const bool intact = CheckTag(frame, totals);
        if (--until_sample_ != 0) [[likely]] continue;
        until_sample_ = kSampleInterval;
        if (!intact) continue;
        ++totals.verified;
        if (!Equal(frame)) ++totals.corrupted;
      }
      return;
  }
}

inline bool TagVerifier::CheckTag(const device::WireFrame& frame, WireTotals& totals) {
  if (frame.length < kTagBytes) [[unlikely]] {
    ++totals.corrupted;
    return false;
  }
  const Tag tag = Tag::Load(frame.data + frame.length - kTagBytes);
  const auto expected = templates_.expected();
  if (!tag.Intact() || tag.index >= expected.size() || expected[tag.index].length != frame.length)
      [[unlikely]] {
    ++totals.corrupted;
    return false;
  }
  Flow& flow = flows_[expected[tag.index].flow];
  if (static_cast<uint32_t>(flow.next) == tag.sequence) [[likely]] {
    ++flow.next;
    ++totals.recognised;
  } else {
    CheckOutOfOrder(expected[tag.index].flow, tag.sequence, totals);
  }
  return true;
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

bool TagVerifier::Equal(const device::WireFrame& frame) const {
  const Tag tag = Tag::Load(frame.data + frame.length - kTagBytes);
  const device::WireFrame& sent = templates_.frames()[tag.index];
  const uint32_t from = templates_.invariant_offset();
  return std::memcmp(frame.data + from, sent.data + from, frame.length - kTagBytes - from) == 0;
}

}  // namespace sluice::emulator
