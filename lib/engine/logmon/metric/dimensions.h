// SPDX-License-Identifier: BSD-3-Clause
//
// Divides a metric into series by up to three named values of each line.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/line_value.h"

namespace sluice::engine::logmon {

inline constexpr size_t kMaxDimensions = 3;

class Dimensions {
 public:
  struct Named {
    std::string name;
    std::string selector;  ///< `$.a.b` or `$field`.
  };
  /// Creates an empty list of dimensions.
  Dimensions() = default;
  /// Returns nullopt and one line in `error` if there are too many dimensions, a name is empty or
  /// duplicate, or a selector does not fit the filter.
  static std::optional<Dimensions> Compile(const std::vector<Named>& named, const Filter& filter,
                                           std::string* error);

  const std::vector<std::string>& names() const { return names_; }

  /// The values of a line by dimension, each limited to kMaxValueBytes. A value is empty if the
  /// line does not contain it.
  struct Values {
    std::array<std::string_view, kMaxDimensions> texts;
    std::array<ScalarRoom, kMaxDimensions> room;
  };
  static constexpr size_t kMaxValueBytes = 255;
  /// Fills `values`. The texts are valid while `line` and `values` exist and until `scratch` is
  /// used for another line.
  void Of(std::string_view line, Scratch& scratch, Values& values) const;

 private:
  std::vector<std::string> names_;
  std::vector<LineValue> selectors_;
};

}  // namespace sluice::engine::logmon
