// SPDX-License-Identifier: BSD-3-Clause
//
// The checked flags of sluice-logmon.
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
  engine::logmon::MonitorOptions monitor;  ///< All options except times.
  uint16_t server_port = 0;  ///< Not 0: serves syslog on this TCP port instead of observing frames.
  double idle_s = 0;         ///< 0: idle sources are never removed.
  std::string lines;         ///< Destination of shown lines: a file, "-" or empty for none.
  std::string minutes;       ///< Destination of closed minutes, as for `lines`.
  std::string alerts;  ///< Destination of alerts, as for `lines`; alerts are always printed too.
  std::string alert_exec;  ///< Program to run for each alert; empty: none.
};

/// Reads the flags. On an invalid flag, returns nullopt and sets `flag` and `fix`.
std::optional<Settings> ReadSettings(const runtime::CommandLine& line, std::string* flag,
                                     std::string* fix);

/// Uses log text as the embedded NIC's traffic, unless a flag selects other traffic. `capture` is
/// empty with other traffic; otherwise, it may be deleted once the NIC is open. On failure, returns
/// false and sets `flag` and `fix`.
bool MakeSample(const Settings& settings, runtime::CommandLine* line,
                std::optional<runtime::SampleCapture>* capture, std::string* flag,
                std::string* fix);

}  // namespace sluice::logmon
