// SPDX-License-Identifier: BSD-3-Clause
//
// Checks frames that one worker receives: identity, integrity, order, duplication, and latency
// since the scheduled departure. A frame is identified only by its tag, because a device may change
// headers and the first byte after them, and may prepend headers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "engine/pktgen/sequence_window.h"
#include "engine/pktgen/tag.h"
#include "engine/pktgen/traffic.h"
#include "engine/workload/histogram.h"

namespace sluice::engine::pktgen {

/// One stream's counters at one worker. The worker writes them; any thread may read them.
struct SeenCounters {
  enum Kind : uint8_t {
    kBytes,         ///< Bytes of received frames, without FCS.
    kDuplicated,    ///< Frames that had already arrived.
    kReordered,     ///< Received frames that arrived after a later frame of their flow.
    kExtent,        ///< Sum of the reordering extents of kReordered frames, in sequence numbers.
    kMostExtent,    ///< Maximum reordering extent, in sequence numbers.
    kDamaged,       ///< Identified by the tag, but the payload was changed.
    kDamagedTwice,  ///< Damaged frames that had already arrived.
    kUnreadable,  ///< The tag is damaged, or its number was not sent; the frame probably belongs to
                  ///< this stream.
    kLate,        ///< Frames that were too late to determine whether they had already arrived.
    kVariation,   ///< Sum of the differences between latencies of consecutive frames, in ns (RFC
                  ///< 3393).
    kKinds
  };
  std::array<std::atomic<uint64_t>, kKinds> values{};
  /// Latency in ns of received frames, i.e. of intact frames that arrive for the first time. The
  /// histogram's count is the number of received frames.
  workload::Histogram latency;
  static constexpr uint64_t kNone = ~uint64_t{0};
  uint64_t last_ns = kNone;  ///< Private to the worker: the last recorded latency.

  void Add(Kind kind, uint64_t amount) {
    values[kind].store(values[kind].load(std::memory_order_relaxed) + amount,
                       std::memory_order_relaxed);
  }
  void AddLatency(uint64_t ns) {
    latency.Record(ns);
    if (last_ns != kNone) [[likely]]
      Add(kVariation, ns > last_ns ? ns - last_ns : last_ns - ns);
    last_ns = ns;
  }
  uint64_t Get(Kind kind) const { return values[kind].load(std::memory_order_relaxed); }
};

/// Checks the frames that one worker receives.
class Checker {
 public:
  enum class Bytes : uint8_t { kCompared, kTrusted };

  /// All references must outlive the checker. `windows` is indexed by stream, then by sending
  /// worker.
  Checker(const Traffic& traffic, std::vector<SequenceWindow*> windows, Bytes bytes);

  /// Handles a frame of `length` bytes without FCS, received `now_ns` after the start of the run.
  void See(const uint8_t* frame, uint32_t length, uint64_t now_ns) {
    Tag tag;
    const bool whole = length >= kTagBytes && Tag::Load(frame + length - kTagBytes, &tag);
    if (whole && tag.run == run_ && tag.stream < streams_ && tag.worker < workers_) [[likely]] {
      Account(frame, length, tag, now_ns);
    } else {
      Blame(length, tag, whole);
    }
  }

  const SeenCounters& counters(size_t stream) const { return counters_[stream]; }
  /// Returns the number of frames without a tag from this run: frames from another run or sender,
  /// and frames that were sent untagged.
  uint64_t others() const { return others_.load(std::memory_order_relaxed); }

 private:
  /// State of the sequence that one worker sends in a stream.
  struct Sequence {
    SequenceWindow* window;
    const FrameSet* frames;
    std::vector<uint64_t> last;  ///< Indexed by flow: 1 + the highest number that arrived.
    uint64_t expected = 0;       ///< 1 + the number of the last frame that arrived, of any flow.
    uint64_t entry = 0;          ///< Index in `frames` of the frame with number `expected`.
  };

  void Account(const uint8_t* frame, uint32_t length, const Tag& tag, uint64_t now_ns) {
    Sequence& sequence = sequences_[tag.stream * workers_ + tag.worker];
    uint64_t number = 0;
    const SequenceWindow::Marked marked = sequence.window->Mark(tag.sequence, &number);
    if (marked == SequenceWindow::Marked::kUnsent) [[unlikely]] {
      return counters_[tag.stream].Add(SeenCounters::kUnreadable, 1);
    }
    // Avoids a division in the common case of consecutive frames.
    const size_t size = sequence.frames->size();
    const uint64_t index = number == sequence.expected ? sequence.entry : number % size;
    sequence.expected = number + 1;
    sequence.entry = index + 1 == size ? 0 : index + 1;
    const FrameSet::Entry& entry = sequence.frames->entry(index);
    const bool intact = IsIntact(frame, length, *sequence.frames, entry);
    SeenCounters& counters = counters_[tag.stream];
    if (marked != SequenceWindow::Marked::kNew || !intact) [[unlikely]] {
      return counters.Add(KindOf(marked, intact), 1);
    }
    uint64_t& last = sequence.last[entry.flow];
    if (number < last) [[unlikely]] {
      AddReordered(counters, last - 1 - number);
    } else {
      last = number + 1;
    }
    counters.Add(SeenCounters::kBytes, length);
    counters.AddLatency((now_ns - tag.departure_ns) & kDepartureMask);
  }
  bool IsIntact(const uint8_t* frame, uint32_t length, const FrameSet& frames,
                const FrameSet::Entry& entry) const {
    if (length < entry.length || !entry.tagged) return false;
    if (bytes_ == Bytes::kTrusted) return true;
    const uint32_t bytes = entry.length - kTagBytes - entry.payload;
    const uint8_t* const sent = frames.bytes(entry) + entry.payload;
    return std::memcmp(frame + length - kTagBytes - bytes, sent, bytes) == 0;
  }
  /// Returns the counter for a frame that does not count as received.
  static SeenCounters::Kind KindOf(SequenceWindow::Marked marked, bool intact);
  [[gnu::noinline]] static void AddReordered(SeenCounters& counters, uint64_t extent);
  [[gnu::noinline]] void Blame(uint32_t length, const Tag& tag, bool whole);

  const uint16_t run_;
  const size_t streams_;
  const uint32_t workers_;
  const Bytes bytes_;
  std::vector<Sequence> sequences_;     ///< Indexed by stream, then by worker.
  std::vector<SeenCounters> counters_;  ///< Indexed by stream.
  std::atomic<uint64_t> others_{0};
};

}  // namespace sluice::engine::pktgen
