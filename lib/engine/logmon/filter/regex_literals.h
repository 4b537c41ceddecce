// SPDX-License-Identifier: BSD-3-Clause
//
// Finds byte strings that a text must contain if an expression matches, even if something was
// inserted into the text.
#pragma once

#include "engine/logmon/filter/clauses.h"
#include "engine/logmon/filter/regex_syntax.h"

namespace sluice::engine::logmon {

/// Returns the clauses for lines that `tree` matches after one piece, the time stamp, has been
/// removed at any position. The piece may split one run of bytes, so each clause contains two runs
/// or the two halves of one. Runs do not contain line ends.
Clauses TornLiteralsOf(const RegexNode& tree);

}  // namespace sluice::engine::logmon
