// SPDX-License-Identifier: BSD-3-Clause
//
// Searches whose time is linear in the length of the text, for any text.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <string>
#include <string_view>

namespace sluice::engine::logmon {

/// Returns the position of `piece` in `text`, or npos.
size_t Find(std::string_view text, std::string_view piece);

inline bool Contains(std::string_view text, std::string_view piece) {
  return Find(text, piece) != std::string_view::npos;
}

enum class Reading { kBytes, kCharacters };

/// Compiles an expression; its memory is bounded. Returns null and RE2's message in `error` if RE2
/// rejects the expression.
std::unique_ptr<const RE2> CompileRe2(std::string_view expression, Reading reading,
                                      std::string* error);

}  // namespace sluice::engine::logmon
