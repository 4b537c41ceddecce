// SPDX-License-Identifier: BSD-3-Clause
//
// Parses keys in flags and configurations.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/telemetry/key_spec.h"

namespace sluice::engine::telemetry {

/// Parses a comma-separated list of keys, e.g. "5-tuple,source,destination/24,source/24,64". A
/// prefix is given by its number of IPv4 bits, optionally followed by a comma and its number of
/// IPv6 bits (default: whole addresses). Returns nullopt if the text is invalid.
std::optional<std::vector<KeySpec>> ParseKeys(std::string_view text);

}  // namespace sluice::engine::telemetry
