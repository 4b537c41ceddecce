// SPDX-License-Identifier: BSD-3-Clause
#include <utility>
#include <variant>

#include "engine/logmon/filter/condition.h"
#include "engine/logmon/filter/filter.h"
#include "engine/logmon/filter/json_line.h"
#include "engine/logmon/filter/line_value.h"

namespace sluice::engine::logmon {

struct MetricValue::Selector {
  std::variant<double, LineValue> value;
};

MetricValue::MetricValue(std::unique_ptr<const Selector> selector)
    : selector_(std::move(selector)) {}
MetricValue::MetricValue(MetricValue&&) noexcept = default;
MetricValue& MetricValue::operator=(MetricValue&&) noexcept = default;
MetricValue::~MetricValue() = default;

std::optional<MetricValue> MetricValue::Compile(std::string_view value, const Filter& filter,
                                                std::string* error) {
  if (const auto number = NumberIn(value)) {
    return MetricValue(std::make_unique<const Selector>(Selector{static_cast<double>(*number)}));
  }
  if (!value.starts_with('$')) {
    *error = "a metric value must be a number, $.property or $field";
    return std::nullopt;
  }
  auto of_line = LineValue::Compile(value, filter, error);
  if (!of_line) return std::nullopt;
  return MetricValue(std::make_unique<const Selector>(Selector{*std::move(of_line)}));
}

std::optional<double> MetricValue::Of(std::string_view line, Scratch& scratch) const {
  if (const double* constant = std::get_if<double>(&selector_->value)) return *constant;
  return std::get<LineValue>(selector_->value).NumberOf(line, scratch);
}

}  // namespace sluice::engine::logmon
