// SPDX-License-Identifier: BSD-3-Clause
//
// The filters of sluice-logmon: of a file, or one by its pattern.
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

/// One filter by its pattern alone, shown, named like its pattern.
std::optional<Config> SingleFilter(const std::string& pattern, std::vector<std::string>* errors);

}  // namespace sluice::logmon
