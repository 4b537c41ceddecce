// SPDX-License-Identifier: BSD-3-Clause
//
// Expressions that match exactly the given bytes.
#pragma once

#include <string>
#include <string_view>

namespace sluice::engine::logmon {

/// Returns the expression in the syntax that Hyperscan, PCRE and RE2 share: letters and digits stay
/// unchanged, all other bytes become \xhh.
std::string ExpressionOf(std::string_view bytes);

/// Appends the expression for `bytes` to `expression`.
void AppendExpressionOf(std::string_view bytes, std::string* expression);

}  // namespace sluice::engine::logmon
