// SPDX-License-Identifier: BSD-3-Clause
//
// What comes back to one worker: which frame it is, whether it is whole, in order and new, and how
// long after its scheduled departure. A frame is known by its tag alone; headers, and the first
// byte behind them, are the device's to change, and it may put headers in front.
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

/// Of one stream at one worker. That worker writes; any thread reads.
struct SeenCounters {
  enum Kind : uint8_t {
    kBytes,         ///< Of those received, without FCS.
    kDuplicated,    ///< Had come before.
    kReordered,     ///< Of those received: behind a later frame of its flow.
    kExtent,        ///< Sum over these: by how many numbers of the stream.
    kMostExtent,    ///< The greatest of these.
    kDamaged,       ///< Known by its tag, but its payload is not as sent.
    kDamagedTwice,  ///< The same of a frame that had come before.
    kUnreadable,    ///< The tag is damaged; of this stream, as far as one can tell.
    kLate,          ///< So late that nobody knows any more whether it had come before.
    kVariation,  ///< ns: sum of how far each latency is from that of the frame before (RFC 3393).
    kKinds
  };
  std::array<std::atomic<uint64_t>, kKinds> values{};
  /// ns, of those received: that came for the first time, and whole. It counts them.
  workload::Histogram latency;
  static constexpr uint64_t kNone = ~uint64_t{0};
  uint64_t last_ns = kNone;  ///< The worker's own: the latency that was recorded last.

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

/// Used by one worker.
class Checker {
 public:
  enum class Bytes : uint8_t { kCompared, kTrusted };

  /// All outlive it. `windows`: by stream, then by the worker that sends.
  Checker(const Traffic& traffic, std::vector<SequenceWindow*> windows, Bytes bytes);

  /// A frame of `length` bytes without FCS came at `now_ns` of the run.
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
  /// Frames without a tag of this run: of another one, of others, or sent without a tag.
  uint64_t others() const { return others_.load(std::memory_order_relaxed); }

 private:
  /// One worker's sequence of a stream, as it is seen here.
  struct Sequence {
    SequenceWindow* window;
    const FrameSet* frames;
    std::vector<uint64_t> last;  ///< By flow: 1 + the last number that came.
    uint64_t expected = 0;       ///< 1 + the number of the last frame, of any flow,
    uint64_t entry = 0;          ///< and the index of the frame that follows it.
  };

  void Account(const uint8_t* frame, uint32_t length, const Tag& tag, uint64_t now_ns) {
    Sequence& sequence = sequences_[tag.stream * workers_ + tag.worker];
    uint64_t number = 0;
    const SequenceWindow::Marked marked = sequence.window->Mark(tag.sequence, &number);
    if (marked == SequenceWindow::Marked::kUnsent) [[unlikely]] {
      return counters_[tag.stream].Add(SeenCounters::kUnreadable, 1);
    }
    // Mostly it is the one behind the last: no division.
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
  /// Of a frame that is not received.
  static SeenCounters::Kind KindOf(SequenceWindow::Marked marked, bool intact);
  [[gnu::noinline]] static void AddReordered(SeenCounters& counters, uint64_t extent);
  [[gnu::noinline]] void Blame(uint32_t length, const Tag& tag, bool whole);

  const uint16_t run_;
  const size_t streams_;
  const uint32_t workers_;
  const Bytes bytes_;
  std::vector<Sequence> sequences_;     ///< By stream, then by worker.
  std::vector<SeenCounters> counters_;  ///< By stream.
  std::atomic<uint64_t> others_{0};
};

}  // namespace sluice::engine::pktgen
