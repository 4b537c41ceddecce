// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/clauses.h"

#include <algorithm>
#include <utility>

#include "engine/logmon/filter/literal.h"

namespace sluice::engine::logmon {
namespace {

bool IsWeaker(const Clause& a, const Clause& b) {
  return std::pair(a.strength, b.any.size()) < std::pair(b.strength, a.any.size());
}

const Clause& Strongest(const Clauses& clauses) {
  return *std::max_element(clauses.begin(), clauses.end(), IsWeaker);
}

void Add(const std::vector<Needle>& needles, std::vector<Needle>* to) {
  for (const Needle& needle : needles) {
    const bool is_there = std::any_of(to->begin(), to->end(), [&](const Needle& other) {
      return other.expression == needle.expression;
    });
    if (!is_there) to->push_back(needle);
  }
}

}  // namespace

Clause LiteralClause(std::string_view bytes) {
  return {.any = {{ExpressionOf(bytes)}}, .strength = bytes.size()};
}

Clauses Both(Clauses a, Clauses b) {
  for (Clause& clause : b) a.push_back(std::move(clause));
  return a;
}

Clauses Either(const Clauses& a, const Clauses& b) {
  if (a.empty() || b.empty()) return {};
  Clause clause = Strongest(a);
  const Clause& other = Strongest(b);
  Add(other.any, &clause.any);
  clause.strength = std::min(clause.strength, other.strength);
  return {std::move(clause)};
}

Needles ToNeedles(const Clauses& clauses) {
  Needles needles;
  Clauses choices;
  for (const Clause& clause : clauses) {
    if (clause.any.size() == 1) {
      Add(clause.any, &needles.all);
    } else {
      choices.push_back(clause);
    }
  }
  if (!choices.empty()) needles.any = Strongest(choices).any;
  return needles;
}

Needles ToOneOf(const Clauses& clauses) {
  if (clauses.empty()) return {};
  Needles needles;
  needles.any = Strongest(clauses).any;
  return needles;
}

}  // namespace sluice::engine::logmon
