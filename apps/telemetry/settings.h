// SPDX-License-Identifier: BSD-3-Clause
//
// The checked flags of sluice-telemetry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/telemetry/setup.h"
#include "runtime/command_line.h"

namespace sluice::telemetry {

/// Destinations of reports; empty: none.
struct ExportSettings {
  std::string ipfix;  ///< ADDRESS:PORT
  std::string csv;    ///< Path; `json` is a path, too.
  std::string json;
  std::string epochs;  ///< Path of a folder.
  uint32_t epochs_kept = 60;
  uint32_t ipfix_domain = 1;
  uint32_t ipfix_template_s = 10;
};

struct Settings {
  engine::telemetry::Setup setup;
  ExportSettings exports;
  /// Seed for sampling. It must differ between nodes with equal sketch seeds.
  uint32_t samples = 0;
  double zipf = 1;   ///< Zipf exponent of the embedded NIC's traffic.
  uint32_t top = 5;  ///< Number of flows printed.
};

/// Reads the flags. On a bad flag returns nullopt, and sets `flag` and `fix`.
std::optional<Settings> ReadSettings(const runtime::CommandLine& line, std::string* flag,
                                     std::string* fix);

}  // namespace sluice::telemetry
