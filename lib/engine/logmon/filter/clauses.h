// SPDX-License-Identifier: BSD-3-Clause
//
// Conditions that a line must satisfy to match a pattern, collected while the pattern is compiled.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/filter.h"

namespace sluice::engine::logmon {

/// Alternative needles, of which a line must contain at least one.
struct Clause {
  std::vector<Needle> any;
  /// Usually the length of the shortest needle in bytes, because longer needles occur by chance in
  /// fewer lines.
  size_t strength = 0;
};

/// A line must satisfy each clause. An empty list is satisfied by every line.
using Clauses = std::vector<Clause>;

/// Returns a clause for lines that contain `bytes`.
Clause LiteralClause(std::string_view bytes);

/// Both returns the clauses for lines that satisfy `a` and `b`. Either returns the clauses for
/// lines that satisfy `a` or `b`.
Clauses Both(Clauses a, Clauses b);
Clauses Either(const Clauses& a, const Clauses& b);

/// Converts clauses to the form that a filter uses: all clauses with a single needle, and the
/// strongest of the other clauses. Never sets Needles::decide.
Needles ToNeedles(const Clauses& clauses);

/// Converts only the strongest clause: the filter is evaluated for lines that contain one of its
/// needles. Never sets Needles::decide.
Needles ToOneOf(const Clauses& clauses);

}  // namespace sluice::engine::logmon
