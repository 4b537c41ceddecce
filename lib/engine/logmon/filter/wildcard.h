// SPDX-License-Identifier: BSD-3-Clause
//
// Text in which * stands for any bytes, or none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

class Wildcard {
 public:
  explicit Wildcard(std::string_view text);

  /// The whole of `text`. In time linear in it, for each piece.
  bool Matches(std::string_view text) const;
  bool has_star() const { return pieces_.size() > 1; }
  /// What lies before, between and behind the stars; may be empty.
  const std::vector<std::string>& pieces() const { return pieces_; }

 private:
  std::vector<std::string> pieces_;
};

}  // namespace sluice::engine::logmon
