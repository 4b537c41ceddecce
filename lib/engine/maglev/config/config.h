// SPDX-License-Identifier: BSD-3-Clause
//
// The configuration file: JSON, comments allowed, its format in config.schema.json and README.md
// of apps/maglev. For sluice-maglev and for programs that have the engine alone. Every error names
// the place, as in `vips[2].backends[0].weight`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/maglev/setup.h"

namespace sluice::engine::maglev {

/// How a VIP's backends are asked whether they serve.
struct HealthCheck {
  enum class Kind : uint8_t { kTcp, kHttp, kIcmp };

  Kind kind = Kind::kTcp;
  double interval_s = 2;
  double timeout_s = 1;
  uint32_t rise = 2;       ///< Successes in a row that bring a backend back.
  uint32_t fall = 3;       ///< Failures in a row that take it away.
  uint16_t port = 0;       ///< 0: where the backend gets its packets: its own port or the VIP's.
  std::string path = "/";  ///< kHttp.
  /// Where no backend that could take new flows passes: all are used as if all passed. Else none.
  bool fail_open = false;

  friend bool operator==(const HealthCheck&, const HealthCheck&) = default;
};

/// Keys of Additions that are not part of a configuration. The value is one line, which begins with
/// the key and states the reason; it is printable ASCII.
using SkippedKeys = std::map<std::string, std::string>;
/// A text with '?' for each byte that is not printable ASCII.
std::string Printable(std::string text);

struct Config {
  Setup setup;
  std::vector<std::optional<HealthCheck>> health;  ///< Of setup.vips, one each.
  SkippedKeys skipped;
};

/// VIPs and backends on top of a file's, one each: "vips/NAME" has a VIP that is called NAME, and
/// "backends/NAME/ANYTHING" a backend of the VIP called NAME, as the JSON object that a file would
/// have. NAME has no slash.
using Additions = std::map<std::string, std::string>;

/// Reads `text`. Nothing, with a line in `errors` for everything that is wrong, if it is not
/// a configuration, or one that Check refuses. `additions` follow the contents of the text, VIPs
/// first, in the order of their keys. A key whose value is wrong or contradicts what comes before
/// it is skipped (Config::skipped); the others apply.
std::optional<Config> ParseConfig(std::string_view text, std::vector<std::string>* errors,
                                  const Additions& additions = {});

/// The same of a file.
std::optional<Config> ReadConfig(const std::string& path, std::vector<std::string>* errors);

}  // namespace sluice::engine::maglev
