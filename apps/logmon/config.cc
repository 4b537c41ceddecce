// SPDX-License-Identifier: BSD-3-Clause
#include "config.h"

#include <utility>

#include "config/json_reader.h"

namespace sluice::logmon {

std::optional<Config> SingleFilter(const std::string& pattern, std::vector<std::string>* errors) {
  std::string error;
  auto filter = engine::logmon::Filter::CloudWatch(pattern, &error);
  if (!filter) {
    config::AddError(errors, error);
    return std::nullopt;
  }
  Config config;
  config.filters.push_back(*std::move(filter));
  FilterConfig& about = config.about.emplace_back();
  about.name = about.pattern = pattern;
  about.show = true;
  return config;
}

}  // namespace sluice::logmon
