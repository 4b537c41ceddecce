// SPDX-License-Identifier: BSD-3-Clause
//
// What the flags of sluice-telemetry say, checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/telemetry/setup.h"
#include "runtime/command_line.h"

namespace sluice::telemetry {

/// Where reports go; empty: nowhere.
struct ExportSettings {
  std::string ipfix;  ///< ADDRESS:PORT
  std::string csv;    ///< Paths.
  std::string json;
  std::string epochs;  ///< A folder.
  uint32_t epochs_kept = 60;
  uint32_t ipfix_domain = 1;
  uint32_t ipfix_template_s = 10;
};

struct Settings {
  engine::telemetry::Setup setup;
  ExportSettings exports;
  uint32_t samples = 0;  ///< What is sampled differs by this, where nodes have the same seed.
  double zipf = 1;       ///< Of the embedded NIC's traffic.
  uint32_t top = 5;      ///< Flows that are printed.
};

/// Reads the flags. On a bad one returns nothing, with its name and the fix.
std::optional<Settings> ReadSettings(const runtime::CommandLine& line, std::string* flag,
                                     std::string* fix);

}  // namespace sluice::telemetry
