// SPDX-License-Identifier: BSD-3-Clause
//
// --keys as people write it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/telemetry/key_spec.h"

namespace sluice::telemetry {

/// "5-tuple,source,destination/24,source/24,64": names, comma-separated. A prefix is given as
/// bits of IPv4, and behind another comma of IPv6, whose addresses count whole without them.
/// Nothing if it is none of that.
std::optional<std::vector<engine::telemetry::KeySpec>> ParseKeys(std::string_view text);

}  // namespace sluice::telemetry
