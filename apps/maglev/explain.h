// SPDX-License-Identifier: BSD-3-Clause
//
// Why a flow goes where it goes: `tcp 1.2.3.4:5 10.0.0.1:80`, IPv6 as [fc00::1]:80.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/maglev/tables.h"
#include "packet/flow_key.h"

namespace sluice::maglev {

/// Protocol, source and destination, one blank between them. Nothing if it is anything else.
std::optional<packet::FlowKey> ParseFlow(std::string_view text);

/// What a flow that no connection table knows gets: {verdict, why} and, as far as it comes,
/// {vip, profile, slot, slots, backend, address, encapsulation, state, epoch}. Slots are the
/// ring's, which is not asked about flows whose source names their backend.
nlohmann::ordered_json Explain(const engine::maglev::Tables& tables, const packet::FlowKey& flow);

/// A line a member.
std::string AsLines(const nlohmann::ordered_json& object);

}  // namespace sluice::maglev
