// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the configuration file, which is JSON with comments. The format is described in
// config.schema.json and README.md of apps/maglev. Used by sluice-maglev and by programs that embed
// the engine. Every error names its place, as in `vips[2].backends[0].weight`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/maglev/setup.h"

namespace sluice::engine::maglev {

/// Health check for the backends of a VIP.
struct HealthCheck {
  enum class Kind : uint8_t { kTcp, kHttp, kIcmp };

  Kind kind = Kind::kTcp;
  double interval_s = 2;
  double timeout_s = 1;
  uint32_t rise = 2;       ///< Consecutive successes after which a backend is up again.
  uint32_t fall = 3;       ///< Consecutive failures after which a backend is down.
  uint16_t port = 0;       ///< Port to check; 0: the backend's port, else the VIP's.
  std::string path = "/";  ///< Path of the request (kHttp).
  /// Behaviour if no backend that accepts new flows passes its check. True: all of them are used as
  /// if they passed. False: no backend is used.
  bool fail_open = false;

  friend bool operator==(const HealthCheck&, const HealthCheck&) = default;
};

/// Keys of Additions that were not applied. The value is the reason: one line of printable ASCII
/// that starts with the key.
using SkippedKeys = std::map<std::string, std::string>;
/// Returns `text` with '?' in place of each byte that is not printable ASCII.
std::string Printable(std::string text);

struct Config {
  Setup setup;
  std::vector<std::optional<HealthCheck>> health;  ///< One element per VIP in setup.vips.
  SkippedKeys skipped;
};

/// VIPs and backends that are added to those in the file. "vips/NAME" contains the VIP called NAME,
/// and "backends/NAME/ANYTHING" a backend of that VIP; the value is the JSON object that the file
/// would contain. NAME must not contain a slash.
using Additions = std::map<std::string, std::string>;

/// Parses `text` and then applies `additions`, VIPs first, in the order of their keys. If `text` is
/// not a valid configuration or Check refuses it, returns nullopt and appends one line per fault to
/// `errors`. An addition whose value is wrong or contradicts an earlier part is skipped
/// (Config::skipped); the others apply.
std::optional<Config> ParseConfig(std::string_view text, std::vector<std::string>* errors,
                                  const Additions& additions = {});

/// Reads the file at `path` and parses it as ParseConfig does.
std::optional<Config> ReadConfig(const std::string& path, std::vector<std::string>* errors);

}  // namespace sluice::engine::maglev
