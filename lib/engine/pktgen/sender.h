// SPDX-License-Identifier: BSD-3-Clause
//
// What one worker sends: frames of all streams in the order in which they are due, no earlier than
// that, and as many at a time as the clock demands. A frame that cannot leave keeps its scheduled
// departure, so that whoever measures its latency is charged for the wait; one that is too late is
// given up, as the generator's own loss: it has no sequence number, so that nobody misses it.
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

/// Written by one worker; any thread reads.
struct SentCounters {
  std::atomic<uint64_t> pkts{0};
  std::atomic<uint64_t> bytes{0};     ///< Without FCS.
  std::atomic<uint64_t> unsent{0};    ///< Given up: too late.
  std::atomic<uint64_t> untagged{0};  ///< Of pkts.

  static void Add(std::atomic<uint64_t>& total, uint64_t amount) {
    total.store(total.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
};

/// Used by one worker, as the source of what a queue emits: frames 0 … planned() - 1.
class Sender {
 public:
  static constexpr uint32_t kMostPlanned = 64;

  /// All outlive it. `windows`: of the worker's sequence of each stream. A frame that has not
  /// left `patience_ps` after its departure is given up.
  Sender(const Traffic& traffic, uint32_t worker, std::vector<SequenceWindow*> windows,
         uint64_t patience_ps);

  /// Plans what is due at `now_ps`, behind what was planned and has not left. Returns frames.
  uint32_t Plan(uint64_t now_ps);
  uint32_t planned() const { return planned_; }
  /// The first `count` frames left at `now_ps`.
  void Sent(uint32_t count, uint64_t now_ps);
  /// Sends nothing any more: what was due before `at_ps` and has not left is unsent.
  void Stop(uint64_t at_ps);
  /// Nothing is planned, and nothing will be due.
  bool over() const { return planned_ == 0 && next_due_ps_ == kNever; }

  /// Bytes of frame `index`, without FCS.
  uint32_t length(uint32_t index) const { return plan_[index].entry->length; }
  /// Writes it.
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

  /// When the frames of a stream have taken their time, once over().
  uint64_t until_ps(size_t stream) const { return streams_[stream].departures.until_ps(); }

  const SentCounters& counters(size_t stream) const { return counters_[stream]; }
  /// The longest time that a frame left behind its departure, in ns.
  uint64_t latest_ns() const { return latest_ns_.load(std::memory_order_relaxed); }
  /// When the last frame left.
  uint64_t last_ps() const { return last_ps_.load(std::memory_order_relaxed); }

 private:
  struct Stream {
    const Share* share;
    Departures departures;
    SequenceWindow* window;
    uint64_t next = 0;   ///< Sequence number, or frame, that is planned next.
    uint64_t entry = 0;  ///< next modulo the number of frames.
    uint64_t turns = 0;  ///< Frames that were due, those given up among them.
  };
  struct Planned {
    uint32_t stream;
    uint64_t sequence;
    uint64_t departure_ps;
    const FrameSet::Entry* entry;
    bool scheduled;  ///< Else it is sent when there is room: nobody misses it.
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
  std::vector<SentCounters> counters_;  ///< By stream.
  uint64_t next_due_ps_ = kNever;       ///< The earliest of all streams: next_'s.
  uint32_t next_ = 0;
  uint32_t planned_ = 0;
  std::array<Planned, kMostPlanned> plan_;
  std::atomic<uint64_t> latest_ns_{0};
  std::atomic<uint64_t> last_ps_{0};
};

}  // namespace sluice::engine::pktgen
