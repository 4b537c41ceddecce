// SPDX-License-Identifier: BSD-3-Clause
//
// The configuration of kind "logmon".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/json_reader.h"
#include "engine/logmon/config/config.h"
#include "engine/logmon/monitor.h"
#include "engine/logmon/scan/rule_set.h"
#include "packet/own_addresses.h"

namespace sluice::c_api {

struct LogmonSettings {
  engine::logmon::Config filters;
  engine::logmon::MonitorOptions monitor;
  packet::OwnAddresses host;

  /// Returns the filters with `show`.
  engine::logmon::FilterSet Shown() const;
};

/// Reads a configuration, in which relative file names refer to `folder`. Returns nothing, with the
/// reasons in `errors`, if the configuration is invalid.
std::optional<LogmonSettings> ReadLogmonSettings(std::string_view text, const std::string& folder,
                                                 uint64_t ticks_per_second, config::Errors* errors);

}  // namespace sluice::c_api
