// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes that a text has where an expression is found, even if something was inserted into it.
#pragma once

#include "engine/logmon/filter/clauses.h"
#include "engine/logmon/filter/regex_syntax.h"

namespace sluice::engine::logmon {

/// What a line has if `tree` is found in what remains of it when one piece, anywhere, is taken out:
/// a time stamp. The piece may tear one run of bytes, so that each clause has two, or halves.
/// Line ends are no part of them.
Clauses TornLiteralsOf(const RegexNode& tree);

}  // namespace sluice::engine::logmon
