// SPDX-License-Identifier: BSD-3-Clause
//
// Necessary conditions of a line, collected while a pattern is compiled.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/filter.h"

namespace sluice::engine::logmon {

/// Alternative needles, of which a line must contain at least one.
struct Clause {
  std::vector<Needle> any;
  /// Usually the length of the shortest needle in bytes; longer needles occur in fewer lines by
  /// chance.
  size_t strength = 0;
};

/// A line must satisfy each clause. An empty list is satisfied by every line.
using Clauses = std::vector<Clause>;

/// Returns a clause for lines that contain `bytes`.
Clause LiteralClause(std::string_view bytes);

/// Both returns the clauses of a line that satisfies `a` and `b`. Either returns those of a line
/// that satisfies `a` or `b`.
Clauses Both(Clauses a, Clauses b);
Clauses Either(const Clauses& a, const Clauses& b);

/// Converts clauses to the form of a filter: clauses with a single needle, and the strongest of the
/// others. Never sets Needles::decide.
Needles ToNeedles(const Clauses& clauses);

/// Uses only the strongest clause: one needle is sufficient to evaluate the filter. Never sets
/// Needles::decide.
Needles ToOneOf(const Clauses& clauses);

}  // namespace sluice::engine::logmon
