// SPDX-License-Identifier: BSD-3-Clause
//
// Reports for people who watch a terminal.
#pragma once

#include <cstdint>
#include <string>

#include "engine/telemetry/epoch_report.h"
#include "latest.h"

namespace sluice::telemetry {

/// A line about the epoch, and for every key a line and its `top` largest flows. No line end at
/// the end.
std::string Table(const engine::telemetry::EpochReport& report, uint32_t top);

/// One line about all epochs.
std::string TotalsLine(const EpochTotals& totals);

/// Makes the lines below the statistics.
class TableLine {
 public:
  TableLine(const Latest& latest, uint32_t top) : latest_(latest), top_(top) {}

  /// The last epoch, if it was not printed yet.
  std::string Next();

 private:
  const Latest& latest_;
  const uint32_t top_;
  uint64_t printed_ = 0;  ///< Epochs that were reported when Next was called last.
};

}  // namespace sluice::telemetry
