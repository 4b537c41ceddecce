// SPDX-License-Identifier: BSD-3-Clause
//
// What a line must have, while a condition is put together.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/filter.h"

namespace sluice::engine::logmon {

/// Needles of which a line has at least one.
struct Clause {
  std::vector<Needle> any;
  size_t strength = 0;  ///< Bytes of the shortest: the more, the fewer lines have it by chance.
};

/// A line has one needle of each. Without any, nothing is known of the line.
using Clauses = std::vector<Clause>;

/// Bytes that the line has.
Clause LiteralClause(std::string_view bytes);

/// What a line has that has all of both, and one that has all of either.
Clauses Both(Clauses a, Clauses b);
Clauses Either(const Clauses& a, const Clauses& b);

/// The necessary conditions that a filter can say: clauses of one needle each, and the strongest
/// of the others. They never decide.
Needles ToNeedles(const Clauses& clauses);

/// The strongest of them alone: one needle suffices to ask. They never decide.
Needles ToOneOf(const Clauses& clauses);

}  // namespace sluice::engine::logmon
