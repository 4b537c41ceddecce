// SPDX-License-Identifier: BSD-3-Clause
//
// Formats reports as CSV (RFC 4180), with one number per row, so that all rows have the same
// columns:
//
// - epoch: number of the epoch
// - start_ns, end_ns: ns since 1970
// - key: KeySpec::Name; empty for all traffic
// - what: packets, bytes, packets_change, distinct_flows, entropy_bits, other_packets, or
//   probability
// - source, destination, protocol and ports of the flow; empty for all flows
// - value
// - low, high: limits of the true value with probability Setup::confidence
// - exact: the number counted without sampling, for all traffic and by the oracle; else empty
// - counted_by: for flows, NameOf of CountedBy
//
// In a row for probability, `value` is the probability at the end of the epoch, and `low` is the
// epoch's minimum. `high` is 1 if any packet was counted with probability 1, else equal to `value`.
#pragma once

#include <cstdint>
#include <string>

#include "engine/telemetry/epoch_report.h"

namespace sluice::engine::telemetry {

/// Returns the header row.
std::string CsvHeader();

/// Returns the rows of `report`. `clock_unix_ns` is the time at which the report's clock was 0, in
/// ns since 1970.
std::string CsvRows(const EpochReport& report, uint64_t clock_unix_ns);

/// Returns a field, quoted if necessary.
std::string CsvField(const std::string& text);

}  // namespace sluice::engine::telemetry
