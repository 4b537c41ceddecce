// SPDX-License-Identifier: BSD-3-Clause
//
// Frames that arrived together, for engines that gain from seeing several at once: they jump to the
// frames that matter to them, or have memory fetched for many before they need it for the first.
// Part of the vocabulary between lib/engine and lib/nic (frame.h).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "packet/frame.h"

namespace sluice::packet {

/// What the frames of a burst amount to.
struct BurstTotals {
  uint64_t bytes = 0;
  uint32_t longest = 0;  ///< Bytes of the longest frame.

  void Add(uint32_t length) {
    bytes += length;
    longest = std::max(longest, length);
  }
};

/// Frames 0 … size() - 1, lent until the engine returns. Those of one flow are in the order in
/// which they came. A frame leaves as it came unless the engine answers it, so that one that it
/// has no interest in costs it nothing: not a byte of it is loaded for its sake.
template <typename B>
concept Burst = requires(B burst, const B& constant, uint32_t number, const Frame& frame,
                         Verdict verdict) {
  /// Frames.
  { constant.size() } -> std::same_as<uint32_t>;
  /// Of all of them.
  { constant.totals() } -> std::same_as<BurstTotals>;
  /// Frame `number`, as in a FrameEngine's hands. Nothing of it was fetched.
  { constant.At(number) } -> std::same_as<Frame>;
  /// Frame::spare of the frame that is answered next, and of no other; At says none. A frame that
  /// outgrew its room and is built there is not copied again.
  { burst.spare() } -> std::same_as<uint8_t*>;
  /// Frame `number` became `frame` and ends as `verdict` says. An engine answers each frame that it
  /// wrote to or that is not to leave, once, and in the order of numbers.
  {burst.Answer(number, frame, verdict)};
};

/// Of an interface on which frames have room, or that does not know where copies will lie.
struct NoSpare {
  uint8_t* operator()() const { return nullptr; }
};

/// The burst of an interface that has found the frames already. `view(number)` returns a Frame,
/// `answer(number, frame, verdict)` sees to an ending, `spare()` returns where the next copy lies.
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

/// A burst of one frame, for those who have one at a time. It keeps the answer.
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

  /// What became of it.
  const Frame& frame() const { return frame_; }
  Verdict verdict() const { return verdict_; }

 private:
  Frame frame_;
  BurstTotals totals_;
  Verdict verdict_ = kForward;
};
static_assert(Burst<OneFrame>);

/// Whether an engine that sees bursts writes to the headers of most frames (`kWritesFrames`): where
/// an interface has to fetch them to find frames at all, it takes the right to write with them.
template <typename Engine>
consteval bool WritesFrames() {
  if constexpr (requires { Engine::kWritesFrames; }) return Engine::kWritesFrames;
  return false;
}

/// Whether an engine serves the station that its port is (`kOwnFramesOnly`): frames for others are
/// not to reach it (nic/own_frames.h). Others watch whatever the port sees.
template <typename Engine>
consteval bool OwnFramesOnly() {
  if constexpr (requires { Engine::kOwnFramesOnly; }) return Engine::kOwnFramesOnly;
  return false;
}

/// Frames first … first + size - 1 of another burst, which outlives it.
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

/// For a layer in front of an engine that sees bursts: `is_mine(frame)`, asked of each frame in
/// its turn, says whether the layer handles it. Then `handle(frame)`, with what became of `frame`,
/// returns its verdict; runs of frames between go to `rest(part)`, before the next that the layer
/// handles.
template <Burst Whole, typename IsMine, typename Handle, typename Rest>
void DivideBurst(Whole& burst, IsMine is_mine, Handle handle, Rest rest) {
  constexpr uint32_t kHeadersAhead = 8;  // A view may be all that was loaded of a frame.
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

/// One frame for an engine of either kind: how whoever has single frames calls it, such as a layer
/// in front of it. Inlined, it is engine.Process where there is one.
template <typename Engine>
Verdict ProcessFrame(Engine& engine, Frame& frame, uint64_t now) {
  if constexpr (requires { engine.Process(frame, now); }) {
    return engine.Process(frame, now);
  } else {
    OneFrame burst(frame);
    engine.ProcessBurst(burst, now);
    frame = burst.frame();
    return burst.verdict();
  }
}

}  // namespace sluice::packet
