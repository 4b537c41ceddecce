// SPDX-License-Identifier: BSD-3-Clause
//
// Explains the path of a flow, given as `tcp 1.2.3.4:5 10.0.0.1:80`; IPv6 as [fc00::1]:80.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/maglev/tables.h"
#include "packet/flow_key.h"

namespace sluice::maglev {

/// Parses protocol, source and destination, separated by blanks. Returns nullopt on a mistake.
std::optional<packet::FlowKey> ParseFlow(std::string_view text);

/// Returns the handling of a flow that is in no connection table: {verdict, why} and, as far as
/// they apply, {vip, profile, slot, slots, backend, address, encapsulation, state, epoch}. Slots
/// are those of the ring, which is not used if the flow's source names its backend.
nlohmann::ordered_json Explain(const engine::maglev::Tables& tables, const packet::FlowKey& flow);

/// Returns one line per member.
std::string AsLines(const nlohmann::ordered_json& object);

}  // namespace sluice::maglev
