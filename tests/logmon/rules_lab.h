// SPDX-License-Identifier: BSD-3-Clause
//
// Compiles filters of both kinds into one rule set.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/logmon/scan/rule_set.h"

namespace sluice::test {

/// Compiles `texts`. A text that begins with '/' is an expression; any other text is a CloudWatch
/// pattern.
inline std::unique_ptr<const engine::logmon::RuleSet> Rules(const std::vector<std::string>& texts) {
  std::vector<engine::logmon::Filter> filters;
  std::string error;
  for (const std::string& text : texts) {
    auto filter = text.starts_with('/') ? engine::logmon::Filter::Regex(text.substr(1), &error)
                                        : engine::logmon::Filter::CloudWatch(text, &error);
    if (!filter) {
      ADD_FAILURE() << text << ": " << error;
      return nullptr;
    }
    filters.push_back(std::move(*filter));
  }
  auto rules = engine::logmon::RuleSet::Compile(std::move(filters), &error);
  EXPECT_NE(rules, nullptr) << error;
  return rules;
}

}  // namespace sluice::test
