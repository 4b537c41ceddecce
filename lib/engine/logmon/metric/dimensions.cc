// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/metric/dimensions.h"

#include <algorithm>
#include <utility>

namespace sluice::engine::logmon {

std::optional<Dimensions> Dimensions::Compile(const std::vector<Named>& named, const Filter& filter,
                                              std::string* error) {
  Dimensions dimensions;
  if (named.size() > kMaxDimensions) {
    *error = "a metric may have at most three dimensions";
    return std::nullopt;
  }
  for (const Named& one : named) {
    const auto& names = dimensions.names_;
    if (one.name.empty() || std::find(names.begin(), names.end(), one.name) != names.end()) {
      *error = "each dimension must have a unique name";
      return std::nullopt;
    }
    auto selector = LineValue::Compile(one.selector, filter, error);
    if (!selector) return std::nullopt;
    dimensions.names_.push_back(one.name);
    dimensions.selectors_.push_back(*std::move(selector));
  }
  return dimensions;
}

void Dimensions::Of(std::string_view line, Scratch& scratch, Values& values) const {
  for (size_t i = 0; i < selectors_.size(); ++i) {
    const auto text = selectors_[i].TextOf(line, scratch, values.room[i]);
    values.texts[i] = text ? text->substr(0, kMaxValueBytes) : std::string_view();
  }
}

}  // namespace sluice::engine::logmon
