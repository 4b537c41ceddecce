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
      sequences_.push_back(
          {windows[stream * workers_ + worker], &frames, std::vector<uint64_t>(frames.flows())});
    }
  }
}

SeenCounters::Kind Checker::KindOf(SequenceWindow::Marked marked, bool intact) {
  using Marked = SequenceWindow::Marked;
  if (!intact) {
    return marked == Marked::kNew ? SeenCounters::kDamaged : SeenCounters::kDamagedTwice;
  }
  return marked == Marked::kLate ? SeenCounters::kLate : SeenCounters::kDuplicated;
}

void Checker::AddReordered(SeenCounters& counters, uint64_t extent) {
  counters.Add(SeenCounters::kReordered, 1);
  counters.Add(SeenCounters::kExtent, extent);
  const uint64_t most = counters.Get(SeenCounters::kMostExtent);
  if (extent > most) counters.Add(SeenCounters::kMostExtent, extent - most);
}

/// Counts a frame with a damaged tag or without a tag from this run. A damaged tag is attributed to
/// this run if its run number differs in at most two bits; otherwise the frame belongs to another
/// sender.
void Checker::Blame(uint32_t length, const Tag& tag, bool whole) {
  const bool ours =
      length >= kTagBytes && !whole && std::popcount(static_cast<uint16_t>(tag.run ^ run_)) <= 2;
  if (!ours) {
    others_.store(others() + 1, std::memory_order_relaxed);
    return;
  }
  counters_[std::min<size_t>(tag.stream, streams_ - 1)].Add(SeenCounters::kUnreadable, 1);
}

}  // namespace sluice::engine::pktgen
