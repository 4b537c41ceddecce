// SPDX-License-Identifier: BSD-3-Clause
//
// The fields of a space-delimited line: "two words" and [two words] are one field each.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace sluice::engine::logmon {

/// A field that begins with a quote or a bracket ends behind the next one that closes it, and has
/// neither in its text: 'a' of "a". If something other than space follows at once, the field goes
/// on up to the next space, and its text is all of it. \" closes nothing. What no one closes is
/// text as any other. Together, all fields take time linear in the line.
class FieldReader {
 public:
  explicit FieldReader(std::string_view line) : line_(line) {}

  /// The next field; nothing behind the last.
  std::optional<std::string_view> Next();

 private:
  size_t FindClose(char close, size_t from);

  std::string_view line_;
  size_t at_ = 0;
  // No such closing character lies ahead.
  bool no_quote_ = false;
  bool no_bracket_ = false;
};

}  // namespace sluice::engine::logmon
