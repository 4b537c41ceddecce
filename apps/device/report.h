// SPDX-License-Identifier: BSD-3-Clause
//
// What a run of sluice-device has to say. Takes figures, gives text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/attach.h"
#include "flags.h"

namespace sluice::device_app {

using Statistics = std::vector<emulator::Statistic>;

/// Frames to and from hosts in the `seconds` between two readings.
std::string RatesLine(const Statistics& before, const Statistics& after, double seconds);
/// Frames of all hosts together, and a line for each reason for which some were dropped.
std::string TotalsText(const Statistics& totals);
/// The JSON object; `totals` after the last host has gone.
std::string JsonReport(const Flags& flags, const Statistics& totals, uint64_t hosts,
                       double seconds);
/// Writes to `path`, "-" for standard output. False if that fails.
bool WriteFile(const std::string& path, const std::string& text);

}  // namespace sluice::device_app
