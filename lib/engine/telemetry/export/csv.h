// SPDX-License-Identifier: BSD-3-Clause
//
// Reports as CSV (RFC 4180): one number a row, so that all rows have the same columns.
//
// epoch, start_ns and end_ns since 1970, key (KeySpec::Name; empty: of all traffic), what, the
// flow (empty: of all flows), value, low and high (the truth lies between them with
// Setup::confidence), exact (what was counted without sampling: all traffic, and by the oracle).
// `what` is packets, bytes, packets_change, distinct_flows, entropy_bits, other_packets, or
// probability: the last of the epoch, the least and the highest.
#pragma once

#include <cstdint>
#include <string>

#include "engine/telemetry/epoch_report.h"

namespace sluice::engine::telemetry {

/// The header row.
std::string CsvHeader();

/// The rows of `report`. `clock_unix_ns`: since 1970, at the 0 of the report's clock.
std::string CsvRows(const EpochReport& report, uint64_t clock_unix_ns);

/// A field, in quotes if it has to be.
std::string CsvField(const std::string& text);

}  // namespace sluice::engine::telemetry
