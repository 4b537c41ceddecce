// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes as an expression that matches them and nothing else.
#pragma once

#include <string>
#include <string_view>

namespace sluice::engine::logmon {

/// In the syntax that Hyperscan, PCRE and RE2 share: letters and digits stand for themselves,
/// every other byte is written as \xhh.
std::string ExpressionOf(std::string_view bytes);

/// The same, behind `expression`.
void AppendExpressionOf(std::string_view bytes, std::string* expression);

}  // namespace sluice::engine::logmon
