// SPDX-License-Identifier: BSD-3-Clause
//
// The tests of RFC 2544 on a generator: trial after trial, in a thread of its own, while workers
// poll. lib/engine/pktgen says which trials.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/pktgen/rate_search.h"
#include "engine/pktgen/rfc2544.h"
#include "engine/workload/histogram.h"
#include "generator.h"
#include "settings.h"

namespace sluice::pktgen {

class Campaign {
 public:
  /// `generator`, whose settings have an rfc2544, outlives it.
  explicit Campaign(Generator& generator);
  ~Campaign() { Cancel(); }
  Campaign(const Campaign&) = delete;
  Campaign& operator=(const Campaign&) = delete;

  /// Frames per second of the line, for this mix of frames.
  double line_pps() const { return line_pps_; }

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
  /// From Cancel on. Lines for people, and the report's member `rfc2544`.
  std::string Totals() const;
  nlohmann::ordered_json Report() const;
  /// Whether the test came to its end with a verdict; if not, `why` it did not.
  bool HasVerdict(std::string* why) const;
  /// Frames of all trials that are not of them.
  uint64_t foreign() const { return foreign_; }

 private:
  void Run();
  /// Nothing if the test was cancelled before the trial's end.
  std::optional<engine::pktgen::Outcome> RunTrial(const engine::pktgen::Offer& offer);
  engine::pktgen::FoundRate FindRate(engine::pktgen::Measure measure) const;
  void MeasureLatency(engine::pktgen::Measure measure);

  Generator& generator_;
  const Rfc2544& test_;
  double line_pps_ = 0;
  std::vector<double> shares_;  ///< Of the frames offered, by stream.
  std::thread thread_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> over_{false};
  bool complete_ = false;  ///< From over_ on: no trial was stopped.

  mutable std::mutex mutex_;  ///< Of what Line shows.
  uint32_t trials_ = 0;
  std::string latest_;

  std::string error_;
  engine::pktgen::FoundRate rate_;
  std::vector<engine::pktgen::LossAtRate> losses_;
  engine::pktgen::BackToBack bursts_;
  std::vector<engine::workload::Histogram> latencies_;  ///< Of each trial at the rate found.
  engine::workload::Histogram latency_;                 ///< Of the latest trial.
  uint64_t foreign_ = 0;
};

}  // namespace sluice::pktgen
