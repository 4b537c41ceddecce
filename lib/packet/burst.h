// SPDX-License-Identifier: BSD-3-Clause
//
// Bursts of frames, for engines that process several frames at once. Such an engine can skip to the
// relevant frames, or prefetch memory for many frames before it processes the first one. This file
// is part of the interface between lib/engine and lib/nic (frame.h).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "packet/frame.h"

namespace sluice::packet {

/// Totals over the frames of a burst.
struct BurstTotals {
  uint64_t bytes = 0;
  uint32_t longest = 0;  ///< Bytes of the longest frame.

  void Add(uint32_t length) {
    bytes += length;
    longest = std::max(longest, length);
  }
};

/// A burst: frames 0 … size() - 1, which are valid until the engine returns. Frames of a flow are
/// in order of arrival. A frame that the engine does not answer is forwarded unchanged, and the
/// burst loads none of its bytes.
template <typename B>
concept Burst = requires(B burst, const B& constant, uint32_t number, const Frame& frame,
                         Verdict verdict) {
  /// Number of frames.
  { constant.size() } -> std::same_as<uint32_t>;
  /// Totals over all frames.
  { constant.totals() } -> std::same_as<BurstTotals>;
  /// Returns frame `number` in the form in which a FrameEngine receives it. None of its bytes have
  /// been prefetched.
  { constant.At(number) } -> std::same_as<Frame>;
  /// Returns Frame::spare for the next frame that the engine answers; At() does not set it. If an
  /// answer does not fit in its frame's buffer and the engine builds it at this address, the
  /// interface need not copy it.
  { burst.spare() } -> std::same_as<uint8_t*>;
  /// Replaces frame `number` by `frame` and sets its verdict. An engine must answer each frame that
  /// it wrote to or that must not be forwarded, exactly once and in ascending order of numbers.
  {burst.Answer(number, frame, verdict)};
};

/// The default `Spare` of FoundBurst. Returns null, for an interface whose frames have headroom and
/// tailroom, or that does not know where copies will be stored.
struct NoSpare {
  uint8_t* operator()() const { return nullptr; }
};

/// A burst for an interface that has already located the frames. `view(number)` returns a Frame,
/// `answer(number, frame, verdict)` processes a verdict, and `spare()` returns the address for the
/// next copy.
template <typename View, typename Answered, typename Spare = NoSpare>
class FoundBurst {
 public:
  FoundBurst(uint32_t size, BurstTotals totals, View view, Answered answer, Spare spare = {})
      : size_(size), totals_(totals), view_(view), answer_(answer), spare_(spare) {}

  uint32_t size() const { return size_; }
  BurstTotals totals() const { return totals_; }
  Frame At(uint32_t number) const { return view_(number); }
  uint8_t* spare() const { return spare_(); }
  void Answer(uint32_t number, const Frame& frame, Verdict verdict) {
    answer_(number, frame, verdict);
  }

 private:
  uint32_t size_;
  BurstTotals totals_;
  View view_;
  Answered answer_;
  [[no_unique_address]] Spare spare_;
};

/// A burst of one frame, for callers that process single frames. It stores the answer.
class OneFrame {
 public:
  explicit OneFrame(const Frame& frame) : frame_(frame), totals_{frame.length, frame.length} {}

  uint32_t size() const { return 1; }
  BurstTotals totals() const { return totals_; }
  Frame At(uint32_t /*number*/) const { return frame_; }
  uint8_t* spare() const { return frame_.spare; }
  void Answer(uint32_t /*number*/, const Frame& frame, Verdict verdict) {
    frame_ = frame;
    verdict_ = verdict;
  }

  /// Returns the frame as the engine answered it.
  const Frame& frame() const { return frame_; }
  Verdict verdict() const { return verdict_; }

 private:
  Frame frame_;
  BurstTotals totals_;
  Verdict verdict_ = kForward;
};
static_assert(Burst<OneFrame>);

/// Frames `first` … `first + size - 1` of another burst, which must outlive this object.
template <Burst Whole>
class PartOfBurst {
 public:
  PartOfBurst(Whole& whole, uint32_t first, uint32_t size)
      : whole_(whole), first_(first), size_(size) {}

  uint32_t size() const { return size_; }
  BurstTotals totals() const {
    if (size_ == whole_.size()) return whole_.totals();
    BurstTotals totals;
    for (uint32_t number = 0; number < size_; ++number) totals.Add(At(number).length);
    return totals;
  }
  Frame At(uint32_t number) const { return whole_.At(first_ + number); }
  uint8_t* spare() const { return whole_.spare(); }
  void Answer(uint32_t number, const Frame& frame, Verdict verdict) {
    whole_.Answer(first_ + number, frame, verdict);
  }

 private:
  Whole& whole_;
  uint32_t first_, size_;
};
static_assert(Burst<PartOfBurst<OneFrame>>);

/// Divides a burst between a layer and the burst engine that it wraps. `is_mine(frame)` is called
/// for each frame in order and returns whether the layer handles the frame. If so, `handle(frame)`
/// may change the frame and returns its verdict. Each run of other frames is passed to `rest(part)`
/// before the next frame that the layer handles.
template <Burst Whole, typename IsMine, typename Handle, typename Rest>
void DivideBurst(Whole& burst, IsMine is_mine, Handle handle, Rest rest) {
  // Prefetch distance in frames. A burst may have loaded only a frame's view and none of its bytes.
  constexpr uint32_t kHeadersAhead = 8;
  const uint32_t size = burst.size();
  uint32_t first = 0;
  const auto give_rest = [&](uint32_t end) {
    if (first == end) return;
    PartOfBurst<Whole> part(burst, first, end - first);
    rest(part);
  };
  for (uint32_t number = 0; number < size; ++number) {
    __builtin_prefetch(burst.At(std::min(number + kHeadersAhead, size - 1)).data);
    Frame frame = burst.At(number);
    if (!is_mine(frame)) [[likely]]
      continue;
    give_rest(number);
    const Verdict verdict = handle(frame);
    burst.Answer(number, frame, verdict);
    first = number + 1;
  }
  give_rest(size);
}

}  // namespace sluice::packet
