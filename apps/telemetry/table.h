// SPDX-License-Identifier: BSD-3-Clause
//
// Reports as text for a terminal.
#pragma once

#include <cstdint>
#include <string>

#include "engine/telemetry/epoch_report.h"
#include "latest.h"

namespace sluice::telemetry {

/// Returns a line about the epoch and, for every key, a line and its `top` largest flows. There is
/// no line end after the last line.
std::string Table(const engine::telemetry::EpochReport& report, uint32_t top);

/// Returns one line about all epochs.
std::string TotalsLine(const EpochTotals& totals);

/// Produces the lines that follow the line of statistics.
class TableLine {
 public:
  TableLine(const Latest& latest, uint32_t top) : latest_(latest), top_(top) {}

  /// Returns the table for the last epoch. If Next has already returned it, or no epoch has ended,
  /// returns a line that says that an epoch is in progress.
  std::string Next();

 private:
  const Latest& latest_;
  const uint32_t top_;
  uint64_t printed_ = 0;  ///< Number of reported epochs at the last call to Next.
};

}  // namespace sluice::telemetry
