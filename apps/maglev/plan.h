// SPDX-License-Identifier: BSD-3-Clause
//
// What a new configuration would do to traffic, before it does.
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

/// An object for every VIP of either configuration. `change`: "new", "removed", "same" or
/// "changed". `slots`: of its ring now; new flows of `gone` of them move because their backend
/// takes no new flows any more, and of `others` although it does. `flows_lost`, if
/// `connections` (live entries by backend index of `now`) are known: live flows whose backend
/// goes down or away, which move at once; `flows`: all of them.
nlohmann::ordered_json Plan(const engine::maglev::Tables& now, const engine::maglev::Setup& next,
                            const std::optional<std::span<const uint32_t>>& connections);

/// The same without known connections. Builds the rings of VIPs that differ alone.
nlohmann::ordered_json Plan(const engine::maglev::Setup& now, const engine::maglev::Setup& next);

/// A line for each VIP.
std::string PlanText(const nlohmann::ordered_json& plan);

/// Asks a running instance, known by its EAL file prefix, through its telemetry socket.
/// Nothing, with one line in `error`, if it cannot be asked or has no answer.
std::optional<nlohmann::ordered_json> AskInstance(const std::string& prefix,
                                                  const std::string& command,
                                                  const std::string& parameters,
                                                  std::string* error);

}  // namespace sluice::maglev
