// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pktgen/checker.h"

#include <algorithm>
#include <bit>

namespace sluice::engine::pktgen {

Checker::Checker(const Traffic& traffic, std::vector<SequenceWindow*> windows, Bytes bytes)
    : run_(traffic.options().run),
      streams_(traffic.streams()),
      workers_(traffic.options().workers),
      bytes_(bytes),
      counters_(traffic.streams()) {
  for (size_t stream = 0; stream < streams_; ++stream) {
    for (uint32_t worker = 0; worker < workers_; ++worker) {
      const FrameSet& frames = traffic.share(stream, worker).frames;
      sequences_.push_back({windows[stream * workers_ + worker], &frames,
                            std::vector<uint64_t>(frames.flows())});
    }
  }
}

void Checker::Account(const uint8_t* frame, uint32_t length, const Tag& tag, uint64_t now_ns) {
  Sequence& sequence = sequences_[tag.stream * workers_ + tag.worker];
  SeenCounters& counters = counters_[tag.stream];
  uint64_t number = 0;
  const SequenceWindow::Marked marked = sequence.window->Mark(tag.sequence, &number);
  if (marked == SequenceWindow::Marked::kUnsent) [[unlikely]] {
    counters.Add(SeenCounters::kUnreadable, 1);
    return;
  }
  // Next to the last one it mostly is: no division.
  const uint64_t index = number == sequence.expected ? sequence.entry
                                                     : number % sequence.frames->size();
  sequence.expected = number + 1;
  sequence.entry = index + 1 == sequence.frames->size() ? 0 : index + 1;
  const FrameSet::Entry& entry = sequence.frames->entry(index);
  const bool intact = IsIntact(frame, length, *sequence.frames, entry);
  if (marked != SequenceWindow::Marked::kNew) [[unlikely]] {
    counters.Add(!intact                                   ? SeenCounters::kDamagedTwice
                 : marked == SequenceWindow::Marked::kLate ? SeenCounters::kLate
                                                           : SeenCounters::kDuplicated,
                 1);
    return;
  }
  if (!intact) [[unlikely]] {
    counters.Add(SeenCounters::kDamaged, 1);
    return;
  }
  uint64_t& last = sequence.last[entry.flow];
  if (number < last) [[unlikely]] {
    const uint64_t extent = last - 1 - number;
    counters.Add(SeenCounters::kReordered, 1);
    counters.Add(SeenCounters::kExtent, extent);
    if (extent > counters.Get(SeenCounters::kMostExtent)) {
      counters.Add(SeenCounters::kMostExtent, extent - counters.Get(SeenCounters::kMostExtent));
    }
  } else {
    last = number + 1;
  }
  counters.Add(SeenCounters::kReceived, 1);
  counters.Add(SeenCounters::kBytes, length);
  counters.latency.Record((now_ns - tag.departure_ns) & kDepartureMask);
}

inline bool Checker::IsIntact(const uint8_t* frame, uint32_t length, const FrameSet& frames,
                              const FrameSet::Entry& entry) const {
  if (length < entry.length || !entry.tagged) return false;
  if (bytes_ == Bytes::kTrusted) return true;
  const uint32_t bytes = entry.length - kTagBytes - entry.payload;
  const uint8_t* const sent = frames.bytes(entry) + entry.payload;
  return std::memcmp(frame + length - kTagBytes - bytes, sent, bytes) == 0;
}

/// The run's number is what makes a damaged tag ours: one that differs in more than two bits is
/// somebody else's.
void Checker::Blame(uint32_t length, const Tag& tag, bool whole) {
  const bool ours = length >= kTagBytes && !whole &&
                    std::popcount(static_cast<uint16_t>(tag.run ^ run_)) <= 2;
  if (!ours) {
    others_.store(others() + 1, std::memory_order_relaxed);
    return;
  }
  counters_[std::min<size_t>(tag.stream, streams_ - 1)].Add(SeenCounters::kUnreadable, 1);
}

}  // namespace sluice::engine::pktgen
