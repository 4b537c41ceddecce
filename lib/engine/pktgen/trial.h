// SPDX-License-Identifier: BSD-3-Clause
//
// One measurement: sends streams and counts the frames that return, per stream and in total.
// Contains the state that workers share and computes the result. A rate search creates one trial
// after another.
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

/// A range of missing frames.
struct LostRange {
  uint32_t worker = 0;  ///< Worker that sent the frames.
  Gone gone;
};

/// Frame counts, unless the name gives another unit. Each frame that was sent with a tag was
/// received, lost, or returned corrupted. A frame with an unreadable tag cannot be identified; it
/// reduces the number of lost frames by one.
struct StreamResult {
  std::string name;
  uint64_t sent = 0;
  uint64_t sent_bytes = 0;  ///< Without FCS.
  uint64_t unsent = 0;      ///< Frames that the generator could not send in time.
  uint64_t untagged = 0;    ///< Sent frames whose return is not tracked.
  uint64_t received = 0;
  uint64_t received_bytes = 0;
  uint64_t lost = 0;
  uint64_t corrupted = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
  uint64_t reorder_extent_max = 0;  ///< Unit: sequence numbers of the stream.
  double reorder_extent_mean = 0;
  uint64_t late = 0;
  /// The first GoneList::kMost ranges of missing frames of each worker. Valid after all workers
  /// have stopped; includes frames with unreadable tags.
  std::vector<LostRange> ranges;
  workload::Histogram latency;  ///< Latency in ns.
  /// Mean difference between the latencies of consecutive frames at one worker (RFC 3393). Only for
  /// single streams; 0 in sums.
  double delay_variation_mean_ns = 0;
};

struct TrialResult {
  std::vector<StreamResult> streams;
  uint64_t others = 0;     ///< Frames that are not part of this trial.
  uint64_t latest_ns = 0;  ///< Maximum time from a frame's scheduled departure to its transmission.
  uint64_t last_ps = 0;    ///< Time at which the last frame was sent.

  /// Returns the sum over all streams, without ranges.
  StreamResult Sum() const;
};

struct TrialOptions {
  uint64_t patience_ps = 10'000'000'000;  ///< Maximum delay before a frame is discarded.
  Checker::Bytes bytes = Checker::Bytes::kCompared;
};

/// A trial, created by the main thread. Each worker uses only its sender and checker.
class Trial {
 public:
  /// `traffic` must outlive the trial.
  Trial(const Traffic& traffic, const TrialOptions& options);

  const Traffic& traffic() const { return traffic_; }
  Sender& sender(uint32_t worker) { return *workers_[worker].sender; }
  Checker& checker(uint32_t worker) { return *workers_[worker].checker; }

  /// Returns the current counts; may be called by any thread. `at_rest` means that all workers have
  /// stopped sending and receiving; only then are ranges set and is `lost` final. `taken_back` is
  /// the number of frames that a queue first reported as sent but did not send; they count as
  /// unsent if they are missing.
  TrialResult Result(bool at_rest, uint64_t taken_back = 0) const;
  /// Returns the duration for which frames were due, in ps, counting one gap per frame. Valid once
  /// all senders have finished.
  uint64_t DuePs() const;
  /// Returns the number of frames that were sent with a tag and are neither received nor known to
  /// be corrupted. May be called by any thread.
  uint64_t Outstanding() const;

 private:
  struct Worker {
    std::unique_ptr<Sender> sender;
    std::unique_ptr<Checker> checker;
  };

  StreamResult ResultOf(size_t stream, bool at_rest) const;

  const Traffic& traffic_;
  std::vector<std::unique_ptr<SequenceWindow>> windows_;  ///< Indexed by stream, then by worker.
  std::vector<Worker> workers_;
};

}  // namespace sluice::engine::pktgen
