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
    kReceived,    ///< Came for the first time, whole.
    kBytes,       ///< Of these, without FCS.
    kDuplicated,  ///< Had come before.
    kReordered,   ///< Of those received: behind a later frame of its flow.
    kExtent,      ///< Sum over these: by how many numbers of the stream.
    kMostExtent,  ///< The greatest of these.
    kDamaged,     ///< Known by its tag, but its payload is not as sent.
    kDamagedTwice,  ///< The same of a frame that had come before.
    kUnreadable,  ///< The tag is damaged; of this stream, as far as one can tell.
    kLate,        ///< So late that nobody knows any more whether it had come before.
    kKinds
  };
  std::array<std::atomic<uint64_t>, kKinds> values{};
  workload::Histogram latency;  ///< ns, of those received.

  void Add(Kind kind, uint64_t amount) {
    values[kind].store(values[kind].load(std::memory_order_relaxed) + amount,
                       std::memory_order_relaxed);
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

  void Account(const uint8_t* frame, uint32_t length, const Tag& tag, uint64_t now_ns);
  bool IsIntact(const uint8_t* frame, uint32_t length, const FrameSet& frames,
                const FrameSet::Entry& entry) const;
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
