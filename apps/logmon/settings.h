// SPDX-License-Identifier: BSD-3-Clause
//
// What the flags of sluice-logmon mean, checked.
#pragma once

#include <optional>
#include <string>

#include "config.h"
#include "engine/logmon/monitor.h"
#include "runtime/command_line.h"
#include "runtime/sample_capture.h"

namespace sluice::logmon {

struct Settings {
  Config config;
  engine::logmon::MonitorOptions monitor;  ///< All but times.
  double idle_s = 0;                       ///< 0: no source is forgotten for its silence.
  std::string lines;                       ///< Where shown lines go: a file, "-" or nowhere.
  std::string minutes;                     ///< The same of minutes that are over.
  std::string alerts;                      ///< The same of alerts, which are printed in any case.
  std::string alert_exec;                  ///< Program that is run for each alert; empty: none.
};

/// Reads the flags. Nothing, with the flag to blame and the fix, if one is wrong.
std::optional<Settings> ReadSettings(const runtime::CommandLine& line, std::string* flag,
                                     std::string* fix);

/// Makes the traffic of the embedded NIC log text, unless a flag says which. The capture, which
/// can go once the NIC is open, or nothing. False, with flag and fix, if it cannot be made.
bool MakeSample(const Settings& settings, runtime::CommandLine* line,
                std::optional<runtime::SampleCapture>* capture, std::string* flag,
                std::string* fix);

}  // namespace sluice::logmon
