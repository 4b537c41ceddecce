// SPDX-License-Identifier: BSD-3-Clause
//
// The latest epoch's report and the totals over all epochs, for threads other than the reader's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>

#include "engine/telemetry/epoch_report.h"

namespace sluice::telemetry {

/// Totals over all reported epochs.
struct EpochTotals {
  uint64_t epochs = 0;
  engine::telemetry::Traffic traffic;
  uint64_t exact_pkts = 0;  ///< Part of traffic.pkts that was seen while every packet was counted.
  double other_pkts = 0;    ///< Estimated number of packets from which no key was read.
  double least_probability = 1;
};

class Latest {
 public:
  void Publish(const engine::telemetry::EpochReport& report) {
    const std::scoped_lock lock(mutex_);
    report_ = report;
    totals_.epochs += 1;
    totals_.traffic += report.total;
    totals_.exact_pkts += report.exact_pkts;
    totals_.other_pkts += report.other_pkts.value;
    totals_.least_probability = std::min(totals_.least_probability, report.least_probability);
  }

  /// Returns nullopt before the end of the first epoch.
  std::optional<engine::telemetry::EpochReport> report() const {
    const std::scoped_lock lock(mutex_);
    return report_;
  }
  EpochTotals totals() const {
    const std::scoped_lock lock(mutex_);
    return totals_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<engine::telemetry::EpochReport> report_;
  EpochTotals totals_;
};

}  // namespace sluice::telemetry
