// SPDX-License-Identifier: BSD-3-Clause
//
// Predicts the effect of a new configuration on traffic.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/maglev/setup.h"
#include "engine/maglev/tables.h"

namespace sluice::maglev {

/// Returns an object for every VIP of either configuration. `change`: "new", "removed", "same" or
/// "changed". `slots`: slots of its current ring. `gone`: slots whose new flows move because their
/// backend no longer accepts new flows. `others`: slots whose new flows move although their backend
/// still accepts new flows. If `connections` (live entries by backend index of `now`) is given, the
/// object also contains `flows`, the number of live flows, and `flows_lost`, the number of live
/// flows whose backend is down or removed, and which therefore move immediately.
nlohmann::ordered_json Plan(const engine::maglev::Tables& now, const engine::maglev::Setup& next,
                            const std::optional<std::span<const uint32_t>>& connections);

/// Returns the same objects without `flows` and `flows_lost`. Builds only the rings of VIPs that
/// differ.
nlohmann::ordered_json Plan(const engine::maglev::Setup& now, const engine::maglev::Setup& next);

/// Returns one line per VIP.
std::string PlanText(const nlohmann::ordered_json& plan);

/// Queries a running instance, identified by its EAL file prefix, through its telemetry socket.
/// Returns nullopt and sets `error` if the query fails or is not answered.
std::optional<nlohmann::ordered_json> AskInstance(const std::string& prefix,
                                                  const std::string& command,
                                                  const std::string& parameters,
                                                  std::string* error);

}  // namespace sluice::maglev
