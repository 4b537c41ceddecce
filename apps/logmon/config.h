// SPDX-License-Identifier: BSD-3-Clause
//
// The filters of sluice-logmon, from a file or from a single pattern.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/logmon/config/config.h"

namespace sluice::logmon {

using engine::logmon::Config;
using engine::logmon::FilterConfig;
using engine::logmon::kMaxConfigBytes;
using engine::logmon::ParseConfig;

/// Returns a single filter with this pattern; its lines are shown, and its name is the pattern.
std::optional<Config> SingleFilter(const std::string& pattern, std::vector<std::string>* errors);

}  // namespace sluice::logmon
