// SPDX-License-Identifier: BSD-3-Clause
//
// A filter's pattern, which may be of any kind.
#pragma once

#include <utility>
#include <variant>

#include "engine/logmon/filter/fail2ban_filter.h"
#include "engine/logmon/filter/field_pattern.h"
#include "engine/logmon/filter/host_regex.h"
#include "engine/logmon/filter/json_pattern.h"
#include "engine/logmon/filter/term_pattern.h"

namespace sluice::engine::logmon {

class Condition {
 public:
  using Pattern = std::variant<TermPattern, HostRegex, JsonPattern, FieldPattern, Fail2banFilter>;
  explicit Condition(Pattern given) : pattern(std::move(given)) {}

  const Pattern pattern;
};

}  // namespace sluice::engine::logmon
