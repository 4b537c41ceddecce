// SPDX-License-Identifier: BSD-3-Clause
//
// Filters, from a file: JSON, comments allowed, its format in apps/logmon's README.md. For
// sluice-logmon and for programs that have the engine alone. Every error names the place, as in
// `filters[2].alert.threshold`.
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

namespace sluice::runtime {
class ObjectReader;
}

namespace sluice::engine::logmon {

/// Of a file of filters, without the files that it names.
inline constexpr size_t kMaxConfigBytes = size_t{4} << 20;

struct FilterConfig {
  std::string name;
  std::string pattern;                  ///< As the user wrote it.
  std::optional<MetricValue> value;     ///< None: an event counts 1.
  std::optional<double> default_value;  ///< Of a minute that had lines and no event.
  Dimensions dimensions;                ///< What tells events of the metric apart.
  std::optional<AlertOptions> alert;    ///< In milliseconds.
  bool alert_by_host = false;           ///< Events of each host count by themselves.
  std::optional<size_t> rules;          ///< Of one of fail2ban's files: how many run.
  bool has_metric() const { return value.has_value() || !dimensions.names().empty(); }
  bool show = false;  ///< Its lines are wanted, not only their number.
};

/// Filters and what is done with their events; both in the same order.
struct Config {
  std::vector<Filter> filters;
  std::vector<FilterConfig> about;
  /// Expressions and rules of files that do not run, a line each, with the reason.
  std::vector<std::string> left_out;
};

/// Reads `text`. Nothing, with what is wrong in `errors` (runtime::Errors), if it is not a
/// configuration: limits first, before anything is compiled. Files that it names are found from
/// `folder`.
std::optional<Config> ParseConfig(std::string_view text, const std::string& folder,
                                  std::vector<std::string>* errors);

/// The same of the member "filters" of an object that may have others; what is wrong is in
/// `errors`, `root`'s.
Config ReadFilters(runtime::ObjectReader& root, const std::string& folder,
                   std::vector<std::string>* errors);

}  // namespace sluice::engine::logmon
