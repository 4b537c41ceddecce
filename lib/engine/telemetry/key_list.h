// SPDX-License-Identifier: BSD-3-Clause
//
// Keys as people write them in flags and configurations.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/telemetry/key_spec.h"

namespace sluice::engine::telemetry {

/// "5-tuple,source,destination/24,source/24,64": names, comma-separated. A prefix is given as
/// bits of IPv4, and behind another comma of IPv6, whose addresses count whole without them.
/// Nothing if it is none of that.
std::optional<std::vector<KeySpec>> ParseKeys(std::string_view text);

}  // namespace sluice::engine::telemetry
