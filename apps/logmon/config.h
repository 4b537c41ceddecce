// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-logmon's filters, read from a file or made from a single pattern.
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

/// Returns a single filter with this pattern. The filter shows its lines and is named after the
/// pattern.
std::optional<Config> SingleFilter(const std::string& pattern, std::vector<std::string>* errors);

}  // namespace sluice::logmon
