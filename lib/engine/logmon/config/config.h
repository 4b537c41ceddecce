// SPDX-License-Identifier: BSD-3-Clause
//
// Reads filters from a JSON file with comments. The format is described in apps/logmon's README.md.
// Used by sluice-logmon and by programs that embed the engine. Every error names the position in
// the file, e.g. `filters[2].alert.threshold`.
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

namespace sluice::config {
class ObjectReader;
}

namespace sluice::engine::logmon {

/// Maximum size of a filter file, not counting the files that it names.
inline constexpr size_t kMaxConfigBytes = size_t{4} << 20;

struct FilterConfig {
  std::string name;
  std::string pattern;                  ///< The pattern in the user's syntax.
  std::optional<MetricValue> value;     ///< Not set: an event counts 1.
  std::optional<double> default_value;  ///< Used for a minute with lines but without events.
  Dimensions dimensions;                ///< Values that separate series of the metric.
  std::optional<AlertOptions> alert;    ///< Times in milliseconds.
  bool alert_by_host = false;           ///< Events are counted separately for each host.
  std::optional<size_t> rules;          ///< For a fail2ban file: number of active rules.
  bool has_metric() const { return value.has_value() || !dimensions.names().empty(); }
  bool show = false;  ///< Matching lines are reported, not only counted.
};

/// Filters and their options, in the same order.
struct Config {
  std::vector<Filter> filters;
  std::vector<FilterConfig> about;
  /// Inactive expressions and inactive rules of files: one line each, with the reason.
  std::vector<std::string> skipped_rules;
};

/// Parses `text`. If it is not a valid configuration, returns nullopt and adds the faults to
/// `errors` (config::Errors). The size of `text` and the number of its filters are checked before
/// the first filter is compiled; expressions in files are counted later. Paths in `text` are
/// relative to `folder`.
std::optional<Config> ParseConfig(std::string_view text, const std::string& folder,
                                  std::vector<std::string>* errors);

/// Parses the member "filters" of `root`, which may have other members. Adds faults to `errors`,
/// which must be the list that `root` uses.
Config ReadFilters(config::ObjectReader& root, const std::string& folder,
                   std::vector<std::string>* errors);

}  // namespace sluice::engine::logmon
