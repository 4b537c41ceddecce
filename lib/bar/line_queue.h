// SPDX-License-Identifier: BSD-3-Clause
//
// A one-way queue over a window, as Wave (Humphries et al., ASPLOS'25) sends events down
// and decisions up: the producer's lines of pairs first … first + depth - 1 are a ring.
// Each line carries its own sequence number in word 0, so that no index is published
// after it, in whatever order lines arrive. The consumer says how far it is in its own
// line of pair `first`, every quarter of the ring; all its other lines are unused.
//
// The item is words 1 … 6 and the lower half of word 7. A full ring never blocks the
// producer: the item is refused and counted, and the consumer must then learn the state
// by other means (Wave: from status words). Templates over the window; each end belongs
// to one thread. What the other end writes is not trusted.
#pragma once

#include <cstdint>

#include "bar/window.h"

namespace sluice::bar {

/// Where a queue is in a window: pairs `first` … `first + depth - 1`, all below lines().
/// Both ends are made with the same, and with the same start: the number before that of the
/// first item. A queue that begins again over lines that were used (an end was replaced) starts
/// at a number of other upper 32 bits, not 0, so that nothing left there is taken for its own.
struct LineQueuePlace {
  uint32_t first = 0;
  uint32_t depth = 0;  ///< At least 1.
};

/// Whether `number` is far from the `present` one: a queue of another start left it. No queue that
/// starts at 0 follows another.
constexpr bool IsForeign(uint64_t number, uint64_t present, uint64_t start) {
  return start != 0 && (number - present + (uint64_t{1} << 31)) >> 32 != 0;
}

template <WindowEnd W>
class LineQueueProducer {
 public:
  /// At the start of a queue. `window` outlives this object.
  LineQueueProducer(W& window, LineQueuePlace place, uint64_t start = 0)
      : window_(&window), place_(place), start_(start), sent_(start), taken_(start) {}

  /// Posts words 1 … 7 of `item`. False, and counted, if the ring is full.
  bool Push(const Line& item) {
    if (sent_ - taken_ == place_.depth && !Refresh()) {
      ++overflows_;
      return false;
    }
    Line line = item;
    const uint32_t slot = static_cast<uint32_t>(sent_ % place_.depth);
    line.word[0] = ++sent_;
    window_->Post(place_.first + slot, line);
    return true;
  }

  /// Items that Push() takes now. Looks for the consumer's progress if they are few.
  uint32_t Room() {
    if (Free() < (place_.depth + 3) / 4) Refresh();
    return Free();
  }

  uint64_t sent() const { return sent_ - start_; }
  uint64_t overflows() const { return overflows_; }  ///< Items refused.
  /// Times that the consumer claimed what cannot be.
  uint64_t faults() const { return faults_; }

 private:
  uint32_t Free() const { return place_.depth - static_cast<uint32_t>(sent_ - taken_); }
  /// Whether the consumer has made room since the last look. In virtual time others may push
  /// while a look waits, so what it is compared with is what was known before it.
  bool Refresh() {
    const uint64_t known = taken_;
    const uint64_t taken = window_->Peek(place_.first);
    // A cached line would hide the room for ever (WT mappings).
    if ((window_->capabilities() & kWindowWriteThrough) != 0) window_->Flush();
    const bool dead = taken == ~uint64_t{0};
    if (dead || IsForeign(taken, sent_, start_)) return Free() != 0;
    if (taken > sent_ || taken < known) {
      ++faults_;
      return false;
    }
    if (taken > taken_) taken_ = taken;
    return Free() != 0;
  }

  W* window_;
  LineQueuePlace place_;
  uint64_t start_;
  uint64_t sent_;   ///< Sequence number of the last item.
  uint64_t taken_;  ///< The consumer is known to have taken so many.
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
        taken_(start),
        reported_(start) {}

  /// The oldest item, if one is there: word 0 is its number, counted from the start's next.
  bool Pop(Line& item) {
    const uint32_t index = place_.first + static_cast<uint32_t>(taken_ % place_.depth);
    const uint64_t expected = taken_ + 1;
    const uint64_t sequence = window_->Peek(index);
    if (sequence != expected) return Absent(sequence, expected);
    // Torn, or written over between the looks: it is looked at again.
    if (!window_->Poll(index, item) || item.word[0] != expected) return Absent(expected, expected);
    taken_ = expected;
    if (taken_ - reported_ >= report_every_) Report();
    return true;
  }

  uint64_t taken() const { return taken_ - start_; }
  /// Lines whose number was neither the next nor the one that it replaces.
  uint64_t faults() const { return faults_; }

 private:
  bool Absent(uint64_t sequence, uint64_t expected) {
    // A look that found nothing is cached, too, and must not be believed twice (WT).
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
    progress.word[0] = reported_ = taken_;
    window_->Post(place_.first, progress);
  }

  W* window_;
  LineQueuePlace place_;
  uint64_t report_every_;
  uint64_t start_;
  uint64_t taken_;
  uint64_t reported_;
  uint64_t faults_ = 0;
};

}  // namespace sluice::bar
