// SPDX-License-Identifier: BSD-3-Clause
//
// One measurement: streams sent, what came back counted, per stream and together. The state that
// workers share during it, and the result; who searches for a rate makes one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/pktgen/checker.h"
#include "engine/pktgen/sender.h"
#include "engine/pktgen/sequence_window.h"
#include "engine/pktgen/traffic.h"
#include "engine/workload/histogram.h"

namespace sluice::engine::pktgen {

/// Where frames are missing.
struct LostRange {
  uint32_t worker = 0;  ///< Whose sequence.
  Gone gone;
};

/// Frames, unless a name says otherwise. Of those sent, each was received, lost, or came back
/// corrupted; a tag that cannot be read leaves open which frame it was, and excuses one.
struct StreamResult {
  std::string name;
  uint64_t sent = 0;
  uint64_t sent_bytes = 0;  ///< Without FCS.
  uint64_t unsent = 0;      ///< The generator's own loss: not sent in time.
  uint64_t untagged = 0;    ///< Of those sent: nothing more is known of them.
  uint64_t received = 0;
  uint64_t received_bytes = 0;
  uint64_t lost = 0;
  uint64_t corrupted = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
  uint64_t reorder_extent_max = 0;  ///< Numbers of the stream.
  double reorder_extent_mean = 0;
  uint64_t late = 0;
  std::vector<LostRange> ranges;  ///< Once at rest; frames with unreadable tags are in them.
  workload::Histogram latency;    ///< ns.
  /// Mean difference between latencies of frames that came one behind the other to one worker
  /// (RFC 3393); of a stream alone, 0 in sums.
  double delay_variation_mean_ns = 0;
};

struct TrialResult {
  std::vector<StreamResult> streams;
  uint64_t others = 0;     ///< Frames that are not of this trial.
  uint64_t latest_ns = 0;  ///< The longest that a frame left behind its departure.
  uint64_t last_ps = 0;    ///< When the last frame left.

  /// All streams together; ranges stay empty.
  StreamResult Sum() const;
};

struct TrialOptions {
  uint64_t patience_ps = 10'000'000'000;  ///< Behind its departure, before a frame is given up.
  Checker::Bytes bytes = Checker::Bytes::kCompared;
};

/// Made by the main thread; each worker uses its own sender and checker.
class Trial {
 public:
  /// `traffic` outlives it.
  Trial(const Traffic& traffic, const TrialOptions& options);

  const Traffic& traffic() const { return traffic_; }
  Sender& sender(uint32_t worker) { return *workers_[worker].sender; }
  Checker& checker(uint32_t worker) { return *workers_[worker].checker; }

  /// Frames so far, any thread. `at_rest`: no worker sends or receives any more; then ranges are
  /// given, and lost is what it says. `taken_back`: frames that a queue turned out not to have
  /// sent: they count as unsent, as far as they are missing.
  TrialResult Result(bool at_rest, uint64_t taken_back = 0) const;
  /// How long frames were due, a gap for each of them; once all senders are over.
  uint64_t DuePs() const;
  /// Frames that are sent, tagged, and neither received nor known to be corrupted. Any thread.
  uint64_t Outstanding() const;

 private:
  struct Worker {
    std::unique_ptr<Sender> sender;
    std::unique_ptr<Checker> checker;
  };

  StreamResult ResultOf(size_t stream, bool at_rest) const;

  const Traffic& traffic_;
  std::vector<std::unique_ptr<SequenceWindow>> windows_;  ///< By stream, then by worker.
  std::vector<Worker> workers_;
};

/// In virtual time, for devices that are pure: `device` takes frames with
/// Send(frame, length, now_ps) and gives them with Receive(now_ps, see), which calls
/// see(frame, length) for each that has arrived. One worker; looks every `step_ps`, and for
/// `settle_ps` after the last frame.
template <typename Device>
TrialResult RunVirtually(Trial& trial, Device& device, uint64_t step_ps, uint64_t settle_ps) {
  std::array<uint8_t, 2048> frame;
  Sender& sender = trial.sender(0);
  uint64_t end_ps = kNever;
  for (uint64_t now_ps = 0; now_ps < end_ps; now_ps += step_ps) {
    for (uint32_t count; (count = sender.Plan(now_ps)) > 0;) {
      for (uint32_t i = 0; i < count; ++i) {
        sender.Write(i, frame.data());
        device.Send(frame.data(), sender.length(i), now_ps);
      }
      sender.Sent(count, now_ps);
    }
    device.Receive(now_ps, [&](const uint8_t* data, uint32_t length) {
      trial.checker(0).See(data, length, now_ps / 1000);
    });
    if (end_ps == kNever && sender.over()) end_ps = now_ps + settle_ps;
  }
  return trial.Result(true);
}

}  // namespace sluice::engine::pktgen
