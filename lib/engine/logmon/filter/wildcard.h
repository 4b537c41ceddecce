// SPDX-License-Identifier: BSD-3-Clause
//
// Text in which * matches any bytes, including none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

class Wildcard {
 public:
  explicit Wildcard(std::string_view text);

  /// Returns whether all of `text` matches. The time is linear in the length of `text` for each
  /// piece.
  bool Matches(std::string_view text) const;
  bool has_star() const { return pieces_.size() > 1; }
  /// Returns the texts before, between and after the stars, which may be empty.
  const std::vector<std::string>& pieces() const { return pieces_; }

 private:
  std::vector<std::string> pieces_;
};

}  // namespace sluice::engine::logmon
