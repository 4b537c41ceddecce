// SPDX-License-Identifier: BSD-3-Clause
//
// Sends one worker's frames. The frames of all streams are sent in the order of their departure
// times, never early, and all due frames together. A frame that cannot be sent in time keeps its
// scheduled departure, so that the measured latency includes the wait. A frame that is too late is
// discarded and counted as the generator's loss; it does not get a sequence number and does not
// count as missing at the receiver.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/pktgen/departures.h"
#include "engine/pktgen/frame_set.h"
#include "engine/pktgen/sequence_window.h"
#include "engine/pktgen/tag.h"
#include "engine/pktgen/traffic.h"

namespace sluice::engine::pktgen {

/// Written by one worker; any thread may read.
struct SentCounters {
  std::atomic<uint64_t> pkts{0};
  std::atomic<uint64_t> bytes{0};     ///< Without FCS.
  std::atomic<uint64_t> unsent{0};    ///< Discarded because they were too late.
  std::atomic<uint64_t> untagged{0};  ///< Untagged frames, which are included in `pkts`.

  static void Add(std::atomic<uint64_t>& total, uint64_t amount) {
    total.store(total.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
};

/// The source of a queue's frames, which have the indices 0 … planned() - 1. Used by one worker.
class Sender {
 public:
  static constexpr uint32_t kMostPlanned = 64;

  /// All references must outlive the sender. `windows` contains, for each stream, the window of
  /// this worker's sequence. A frame that was not sent within `patience_ps` after its departure
  /// time is discarded.
  Sender(const Traffic& traffic, uint32_t worker, std::vector<SequenceWindow*> windows,
         uint64_t patience_ps);

  /// Discards planned frames that are too late, then plans the frames that are due at `now_ps`, up
  /// to kMostPlanned planned frames in total. Returns the number of planned frames.
  uint32_t Plan(uint64_t now_ps);
  uint32_t planned() const { return planned_; }
  /// Reports that the first `count` planned frames were sent at `now_ps`.
  void Sent(uint32_t count, uint64_t now_ps);
  /// Stops sending. Frames that were due before `at_ps` but not sent count as unsent.
  void Stop(uint64_t at_ps);
  /// Returns whether no frame is planned and none will be due.
  bool over() const { return planned_ == 0 && next_due_ps_ == kNever; }

  /// Returns the length of frame `index` in bytes, without FCS.
  uint32_t length(uint32_t index) const { return plan_[index].entry->length; }
  /// Writes frame `index` to `to`.
  void Write(uint32_t index, uint8_t* to) const {
    const Planned& frame = plan_[index];
    const Stream& stream = streams_[frame.stream];
    std::memcpy(to, stream.share->frames.bytes(*frame.entry), frame.entry->length);
    if (!frame.entry->tagged) return;
    Tag{.sequence = static_cast<uint32_t>(frame.sequence),
        .departure_ns = frame.departure_ps / 1000 & kDepartureMask,
        .worker = static_cast<uint8_t>(worker_),
        .run = run_,
        .stream = static_cast<uint16_t>(frame.stream)}
        .Store(to + frame.entry->length - kTagBytes);
  }

  /// Returns the time until which a stream is occupied by its frames; valid once over().
  uint64_t until_ps(size_t stream) const { return streams_[stream].departures.until_ps(); }

  const SentCounters& counters(size_t stream) const { return counters_[stream]; }
  /// Returns the maximum time from a frame's scheduled departure to its transmission, in ns.
  uint64_t latest_ns() const { return latest_ns_.load(std::memory_order_relaxed); }
  /// Returns the time at which the last frame was sent.
  uint64_t last_ps() const { return last_ps_.load(std::memory_order_relaxed); }

 private:
  struct Stream {
    const Share* share;
    Departures departures;
    SequenceWindow* window;
    uint64_t next = 0;   ///< Sequence number of the next frame to plan.
    uint64_t entry = 0;  ///< `next` modulo the number of frames.
    uint64_t turns = 0;  ///< Frames that were due, including discarded ones.
  };
  struct Planned {
    uint32_t stream;
    uint64_t sequence;
    uint64_t departure_ps;
    const FrameSet::Entry* entry;
    bool scheduled;  ///< False: sent when there is room, and never discarded.
  };

  uint64_t DueOf(const Stream& stream) const {
    const bool ended = stream.share->frames.empty() ||
                       (stream.share->limit > 0 && stream.turns >= stream.share->limit);
    return ended ? kNever : stream.departures.due_ps();
  }
  void PlanNext(uint32_t stream, uint64_t departure_ps, bool scheduled);
  void GiveUpLate(uint64_t now_ps);
  [[gnu::noinline]] void GiveUpDue(uint64_t before_ps);
  void PlanDue(uint64_t now_ps);
  void FindNext();
  [[gnu::noinline]] void ForgetUntagged(const Planned& frame);

  const uint32_t worker_;
  const uint16_t run_;
  const uint64_t patience_ps_;
  std::vector<Stream> streams_;
  std::vector<SentCounters> counters_;  ///< Indexed by stream.
  /// Earliest due time of all streams, which is that of stream next_.
  uint64_t next_due_ps_ = kNever;
  uint32_t next_ = 0;
  uint32_t planned_ = 0;
  std::array<Planned, kMostPlanned> plan_;
  std::atomic<uint64_t> latest_ns_{0};
  std::atomic<uint64_t> last_ps_{0};
};

}  // namespace sluice::engine::pktgen
