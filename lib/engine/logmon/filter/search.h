// SPDX-License-Identifier: BSD-3-Clause
//
// Searches in time that is linear in the text, whatever it is.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <string>
#include <string_view>

namespace sluice::engine::logmon {

/// npos if `text` has no `piece`.
size_t Find(std::string_view text, std::string_view piece);

inline bool Contains(std::string_view text, std::string_view piece) {
  return Find(text, piece) != std::string_view::npos;
}

enum class Reading { kBytes, kCharacters };

/// Null, and RE2's words in `error`, if it does not take the expression. Its memory is bounded.
std::unique_ptr<const RE2> CompileRe2(std::string_view expression, Reading reading,
                                      std::string* error);

}  // namespace sluice::engine::logmon
