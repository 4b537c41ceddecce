// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the RFC 2544 tests on a generator: one trial after the other, on a separate thread, while
// workers poll. lib/engine/pktgen selects the trials.
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

/// Results of a test. If the test is incomplete, contains the results found before it ended.
struct Found {
  double line_pps = 0;             ///< Line rate in frames per second, for this mix.
  engine::pktgen::FoundRate rate;  ///< For the tests of throughput and latency.
  /// Latencies in ns of each trial at the rate found.
  std::vector<engine::workload::Histogram> latencies;
  std::vector<engine::pktgen::LossAtRate> losses;
  engine::pktgen::BackToBack bursts;
  uint64_t foreign = 0;  ///< Received frames that do not belong to any trial.
  /// Why the test is incomplete; empty if it is complete.
  std::string unfinished = "stopped before its end";
};

class Campaign {
 public:
  /// `generator`, whose Settings::rfc2544 must be set, must outlive the object.
  explicit Campaign(Generator& generator);
  ~Campaign() { Cancel(); }
  Campaign(const Campaign&) = delete;
  Campaign& operator=(const Campaign&) = delete;

  /// Starts the test. Workers must poll. Call it once, on the main thread.
  void Start() {
    thread_ = std::thread([this] { Run(); });
  }
  bool over() const { return over_.load(std::memory_order_acquire); }
  /// Ends the test. Discards the trial in progress and keeps earlier results. Workers must poll.
  void Cancel();

  /// Returns the progress of the test. May be called by any thread.
  std::string Line() const;
  const Rfc2544& test() const { return test_; }
  /// Returns the results. Call it after Cancel.
  const Found& found() const { return found_; }

 private:
  void Run();
  /// Runs a trial, and repeats it a few times if the link was down during it. Returns nullopt if
  /// the test was cancelled before the trial ended, the link does not stay up, or the traffic is
  /// impossible.
  std::optional<engine::pktgen::Outcome> RunTrial(const engine::pktgen::Offer& offer);
  /// Runs a trial once. Returns nullopt if the test was cancelled, the link went down, or the
  /// traffic is impossible.
  std::optional<engine::pktgen::Outcome> TryTrial(const engine::pktgen::Offer& offer);
  bool LinkKept() const { return generator_.link_up() && generator_.link_losses() == link_losses_; }
  engine::pktgen::FoundRate FindRate(engine::pktgen::Measure measure) const;
  void MeasureLatency(engine::pktgen::Measure measure);

  Generator& generator_;
  const Rfc2544& test_;
  std::vector<double> shares_;  ///< Fraction of the offered frames, indexed by stream.
  std::thread thread_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> over_{false};

  mutable std::mutex mutex_;  ///< Protects the data that Line shows.
  uint32_t trials_ = 0;
  std::string latest_;

  /// Value of generator_.link_losses() before the trial in progress; used by the test's thread
  /// only.
  uint64_t link_losses_ = 0;
  Found found_;                          ///< Used only by the test's thread until over_.
  engine::workload::Histogram latency_;  ///< Latencies of the latest trial.
};

}  // namespace sluice::pktgen
