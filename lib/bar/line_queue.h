// SPDX-License-Identifier: BSD-3-Clause
//
// A one-way queue over a window. Wave (Humphries et al., ASPLOS'25) uses such queues for events to
// the NIC and decisions to the host. The producer's lines in pairs first … first + depth - 1 form a
// ring. Word 0 of each line contains its sequence number, so that no separate index must be
// published and lines may arrive in any order. The consumer reports its progress in its line in
// pair `first`, once per quarter of the ring; its other lines are unused.
//
// An item occupies words 1 … 6 and the lower half of word 7. A full ring never blocks the producer:
// the item is rejected and counted, and the consumer must obtain the state in another way (in Wave:
// from status words). Both ends are templates over the window type, and each belongs to one thread.
// Neither end trusts the lines of its peer.
#pragma once

#include <cstdint>

#include "bar/window.h"

namespace sluice::bar {

/// Position of a queue in a window: pairs `first` … `first + depth - 1`, all below lines(). Both
/// ends must use the same position and the same start: the first item's number minus 1. If a queue
/// is restarted over used lines because an end was replaced, its start must differ from the old one
/// in the upper 32 bits and must not be 0, so that old lines are not mistaken for new ones.
struct LineQueuePlace {
  uint32_t first = 0;
  uint32_t depth = 0;  ///< Number of pairs; at least 1.
};

/// Returns whether `number` is so far from `present` that a queue with another start must have
/// written it. Always returns false for start 0, because a queue with start 0 must be the first to
/// use its lines.
constexpr bool IsForeign(uint64_t number, uint64_t present, uint64_t start) {
  return start != 0 && (number - present + (uint64_t{1} << 31)) >> 32 != 0;
}

template <WindowEnd W>
class LineQueueProducer {
 public:
  /// Creates the producer at the start of a queue. `window` must outlive it.
  LineQueueProducer(W& window, LineQueuePlace place, uint64_t start = 0)
      : window_(&window), place_(place), start_(start), sent_(start), consumed_(start) {}

  /// Posts words 1 … 7 of `item`. Returns false and counts an overflow if the ring is full.
  bool Push(const Line& item) {
    if (sent_ - consumed_ == place_.depth && !Refresh()) {
      ++overflows_;
      return false;
    }
    Line line = item;
    const uint32_t slot = static_cast<uint32_t>(sent_ % place_.depth);
    line.word[0] = ++sent_;
    window_->Post(place_.first + slot, line);
    return true;
  }

  /// Returns the number of items that Push() accepts now. If the last known value is less than a
  /// quarter of the ring, first reads the consumer's progress.
  uint32_t Room() {
    if (Free() < (place_.depth + 3) / 4) Refresh();
    return Free();
  }

  uint64_t sent() const { return sent_ - start_; }
  uint64_t overflows() const { return overflows_; }  ///< Number of rejected items.
  /// Returns the number of impossible progress reports from the consumer.
  uint64_t faults() const { return faults_; }

 private:
  uint32_t Free() const { return place_.depth - static_cast<uint32_t>(sent_ - consumed_); }
  /// Reads the consumer's progress. Returns whether the ring then has a free line; false if the
  /// report is impossible. In virtual time, other tasks may push during Peek, so the report is
  /// compared with the progress that was known before Peek.
  bool Refresh() {
    const uint64_t known = consumed_;
    const uint64_t consumed = window_->Peek(place_.first);
    // A line that was cached through a WT mapping would hide freed space forever.
    if ((window_->capabilities() & kWindowWriteThrough) != 0) window_->Flush();
    const bool dead = consumed == ~uint64_t{0};
    if (dead || IsForeign(consumed, sent_, start_)) return Free() != 0;
    if (consumed > sent_ || consumed < known) {
      ++faults_;
      return false;
    }
    if (consumed > consumed_) consumed_ = consumed;
    return Free() != 0;
  }

  W* window_;
  LineQueuePlace place_;
  uint64_t start_;
  uint64_t sent_;      ///< Sequence number of the last item.
  uint64_t consumed_;  ///< Sequence number of the last item that the consumer reported as consumed.
  uint64_t overflows_ = 0;
  uint64_t faults_ = 0;
};

template <WindowEnd W>
class LineQueueConsumer {
 public:
  LineQueueConsumer(W& window, LineQueuePlace place, uint64_t start = 0)
      : window_(&window),
        place_(place),
        report_every_((place.depth + 3) / 4),
        start_(start),
        consumed_(start),
        reported_(start) {}

  /// If the queue has an item, stores the oldest in `item` and returns true. Word 0 of the item is
  /// its number, which counts from start + 1.
  bool Pop(Line& item) {
    const uint32_t index = place_.first + static_cast<uint32_t>(consumed_ % place_.depth);
    const uint64_t expected = consumed_ + 1;
    const uint64_t sequence = window_->Peek(index);
    if (sequence != expected) return Absent(sequence, expected);
    // The line was torn, or was overwritten between the two reads. The next call reads it again.
    if (!window_->Poll(index, item) || item.word[0] != expected) return Absent(expected, expected);
    consumed_ = expected;
    if (consumed_ - reported_ >= report_every_) Report();
    return true;
  }

  uint64_t consumed() const { return consumed_ - start_; }
  /// Returns the number of reads that found a sequence number of this queue (not IsForeign) that
  /// was neither the expected one nor that of the overwritten item.
  uint64_t faults() const { return faults_; }

 private:
  bool Absent(uint64_t sequence, uint64_t expected) {
    // With WT mappings, the stale line may be cached and must not be read from the cache again.
    if ((window_->capabilities() & kWindowWriteThrough) != 0) window_->Flush();
    const uint64_t replaced = expected - start_ > place_.depth ? expected - place_.depth : 0;
    if (sequence != replaced && sequence != expected && sequence != ~uint64_t{0} &&
        !IsForeign(sequence, expected, start_)) {
      ++faults_;
    }
    return false;
  }
  void Report() {
    Line progress;
    progress.word[0] = reported_ = consumed_;
    window_->Post(place_.first, progress);
  }

  W* window_;
  LineQueuePlace place_;
  uint64_t report_every_;
  uint64_t start_;
  uint64_t consumed_;
  uint64_t reported_;
  uint64_t faults_ = 0;
};

}  // namespace sluice::bar
