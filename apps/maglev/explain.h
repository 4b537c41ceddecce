// SPDX-License-Identifier: BSD-3-Clause
//
// Explains the path of a flow, written as `tcp 1.2.3.4:5 10.0.0.1:80`, or with IPv6 addresses such
// as [fc00::1]:80.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/maglev/tables.h"
#include "packet/flow_key.h"

namespace sluice::maglev {

/// Parses protocol, source and destination, separated by blanks. Returns nullopt if the text is
/// invalid.
std::optional<packet::FlowKey> ParseFlow(std::string_view text);

/// Returns how a flow that is in no connection table is handled: {verdict, why} and, if applicable,
/// {vip, profile, slot, slots, backend, address, encapsulation, state, epoch}. `slot` and `slots`
/// refer to the ring, which is not used if the flow's source selects its backend.
nlohmann::ordered_json Explain(const engine::maglev::Tables& tables, const packet::FlowKey& flow);

/// Returns one line per member.
std::string AsLines(const nlohmann::ordered_json& object);

}  // namespace sluice::maglev
