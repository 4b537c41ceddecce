// SPDX-License-Identifier: BSD-3-Clause
//
// Reports as CSV (RFC 4180), with one number per row, so that all rows have the same columns.
//
// Columns: epoch; start_ns and end_ns since 1970; key (KeySpec::Name; empty: all traffic); what;
// the flow (empty: all flows); value; low and high (they contain the true value with probability
// Setup::confidence); exact (the number as counted without sampling, for all traffic and by the
// oracle; else empty); counted_by (NameOf of CountedBy, for flows). The column `what` is packets,
// bytes, packets_change, distinct_flows, entropy_bits, other_packets, or probability. For
// probability, `value` is that at the end of the epoch, `low` is the epoch's minimum, and `high` is
// 1 if any packet was counted with probability 1, else equal to `value`.
#pragma once

#include <cstdint>
#include <string>

#include "engine/telemetry/epoch_report.h"

namespace sluice::engine::telemetry {

/// Returns the header row.
std::string CsvHeader();

/// Returns the rows of `report`. `clock_unix_ns` is the time since 1970 at the 0 of the report's
/// clock.
std::string CsvRows(const EpochReport& report, uint64_t clock_unix_ns);

/// Returns a field, quoted if necessary.
std::string CsvField(const std::string& text);

}  // namespace sluice::engine::telemetry
