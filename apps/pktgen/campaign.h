// SPDX-License-Identifier: BSD-3-Clause
//
// The tests of RFC 2544 on a generator: trial after trial, in a thread of its own, while workers
// poll. lib/engine/pktgen says which trials.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/pktgen/rate_search.h"
#include "engine/pktgen/rfc2544.h"
#include "engine/workload/histogram.h"
#include "generator.h"
#include "settings.h"

namespace sluice::pktgen {

/// What a test found: whole, or as far as it went.
struct Found {
  double line_pps = 0;             ///< Frames per second of the line, for this mix of frames.
  engine::pktgen::FoundRate rate;  ///< Of throughput and latency.
  std::vector<engine::workload::Histogram> latencies;  ///< Of each trial at the rate found; ns.
  std::vector<engine::pktgen::LossAtRate> losses;
  engine::pktgen::BackToBack bursts;
  uint64_t foreign = 0;  ///< Frames of all trials that are not of them.
  std::string unfinished = "stopped before its end";  ///< Empty: it came to its end.
};

class Campaign {
 public:
  /// `generator`, whose settings have an rfc2544, outlives it.
  explicit Campaign(Generator& generator);
  ~Campaign() { Cancel(); }
  Campaign(const Campaign&) = delete;
  Campaign& operator=(const Campaign&) = delete;

  /// Workers poll. Main thread, once.
  void Start() {
    thread_ = std::thread([this] { Run(); });
  }
  bool over() const { return over_.load(std::memory_order_acquire); }
  /// Ends the test, and the trial under way counts for nothing; what was found before is kept.
  /// Workers poll.
  void Cancel();

  /// Where the test is. Any thread.
  std::string Line() const;
  const Rfc2544& test() const { return test_; }
  /// From Cancel on.
  const Found& found() const { return found_; }

 private:
  void Run();
  /// A trial in which the link was down is discarded, and runs again. Nothing if the test was
  /// cancelled before the trial's end, or the link does not stay up.
  std::optional<engine::pktgen::Outcome> RunTrial(const engine::pktgen::Offer& offer);
  /// One try. Nothing if the test was cancelled, or the link went down.
  std::optional<engine::pktgen::Outcome> TryTrial(const engine::pktgen::Offer& offer);
  bool LinkKept() const { return generator_.link_up() && generator_.link_losses() == link_losses_; }
  engine::pktgen::FoundRate FindRate(engine::pktgen::Measure measure) const;
  void MeasureLatency(engine::pktgen::Measure measure);

  Generator& generator_;
  const Rfc2544& test_;
  std::vector<double> shares_;  ///< Of the frames offered, by stream.
  std::thread thread_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> over_{false};

  mutable std::mutex mutex_;  ///< Of what Line shows.
  uint32_t trials_ = 0;
  std::string latest_;

  uint64_t link_losses_ = 0;             ///< Before the trial under way; the thread's.
  Found found_;                          ///< The thread's until over_.
  engine::workload::Histogram latency_;  ///< Of the latest trial.
};

}  // namespace sluice::pktgen
