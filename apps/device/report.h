// SPDX-License-Identifier: BSD-3-Clause
//
// Converts the statistics of a sluice-device run to reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/attach.h"
#include "flags.h"

namespace sluice::device_app {

using Statistics = std::vector<emulator::Statistic>;

/// Returns the rates of frames to and from hosts during the `seconds` between two readings, and the
/// total number of corrupted frames.
std::string RatesLine(const Statistics& before, const Statistics& after, double seconds);
/// Returns the totals of frames and faults over all hosts, and one line per drop reason that
/// occurred.
std::string TotalsText(const Statistics& totals);
/// Returns the JSON object; `totals`: statistics after the last host has left.
std::string JsonReport(const Flags& flags, const Statistics& totals, uint64_t hosts,
                       double seconds);

}  // namespace sluice::device_app
