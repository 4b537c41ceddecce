// SPDX-License-Identifier: BSD-3-Clause
//
// The filters of sluice-logmon, from a file: JSON, comments allowed, its format in README.md.
// Every error names the place, as in `filters[2].alert.threshold`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/filter.h"
#include "engine/logmon/metric/alert.h"
#include "engine/logmon/metric/dimensions.h"

namespace sluice::logmon {

/// Of a file of filters, without the files that it names.
inline constexpr size_t kMaxConfigBytes = size_t{4} << 20;

struct FilterConfig {
  std::string name;
  std::string pattern;  ///< As the user wrote it.
  std::optional<engine::logmon::MetricValue> value;  ///< None: an event counts 1.
  std::optional<double> default_value;  ///< Of a minute that had lines and no event.
  engine::logmon::Dimensions dimensions;  ///< What tells events of the metric apart.
  std::optional<engine::logmon::AlertOptions> alert;  ///< In milliseconds.
  bool alert_by_host = false;  ///< Events of each host count by themselves.
  std::optional<size_t> rules;  ///< Of one of fail2ban's files: how many run.
  bool has_metric() const { return value.has_value() || !dimensions.names().empty(); }
  bool show = false;  ///< Its lines go to --lines.
};

/// Filters and what is done with their events; both in the same order.
struct Config {
  std::vector<engine::logmon::Filter> filters;
  std::vector<FilterConfig> about;
  /// Expressions and rules of files that do not run, a line each, with the reason.
  std::vector<std::string> left_out;
};

/// Reads `text`. Nothing, with what is wrong in `errors` (runtime::Errors), if it is not a
/// configuration: limits first, before anything is compiled. Files that it names are found from
/// `folder`.
std::optional<Config> ParseConfig(std::string_view text, const std::string& folder,
                                  std::vector<std::string>* errors);

/// One filter by its pattern alone, shown, named like its pattern.
std::optional<Config> SingleFilter(const std::string& pattern, std::vector<std::string>* errors);

}  // namespace sluice::logmon
