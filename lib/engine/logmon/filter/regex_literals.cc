// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/regex_literals.h"

#include <algorithm>
#include <bitset>
#include <string>
#include <utility>
#include <vector>

#include "engine/logmon/filter/literal.h"

namespace sluice::engine::logmon {
namespace {

using Kind = RegexNode::Kind;
/// A run of bytes. Each byte may have alternatives: both cases of a letter or a few others.
using Run = std::vector<std::bitset<256>>;

constexpr size_t kMaxAlternatives = 4;
// Longer runs would exclude few additional lines.
constexpr size_t kMaxRun = 24;

bool IsLiteral(const RegexNode& node) {
  return node.kind == Kind::kSet && node.set.count() <= kMaxAlternatives && !node.set['\n'] &&
         !node.set['\r'];
}

std::string RunExpression(const Run& run, size_t from, size_t to) {
  std::string expression;
  for (size_t i = from; i < to; ++i) {
    const bool is_class = run[i].count() > 1;
    if (is_class) expression += '[';
    for (size_t byte = run[i]._Find_first(); byte < 256; byte = run[i]._Find_next(byte)) {
      const char c = static_cast<char>(byte);
      AppendExpressionOf({&c, 1}, &expression);
    }
    if (is_class) expression += ']';
  }
  return expression;
}

/// Returns a clause that requires one of two needles, because an insertion may split the other one.
Clause OneOf(Needle a, Needle b, size_t strength) {
  Clause clause;
  clause.strength = strength;
  clause.any.push_back(std::move(a));
  if (clause.any[0].expression != b.expression) clause.any.push_back(std::move(b));
  return clause;
}

class RunCollector {
 public:
  /// Adds the next node of a sequence, which may continue the last run.
  void Add(const RegexNode& node) {
    switch (node.kind) {
      case Kind::kSet:
        if (IsLiteral(node) && node.set.any()) {
          if (runs_.back().size() < kMaxRun)
            runs_.back().push_back(node.set);
          else
            EndRun();
        } else {
          EndRun();
        }
        return;
      case Kind::kSequence:
        for (const RegexNode& child : node.children) Add(child);
        return;
      case Kind::kChoice:
        return AddChoice(node);
      case Kind::kRepeat:
        if (node.min == 1 && node.max == 1) return Add(node.children[0]);
        EndRun();
        if (node.min > 0) AddInner(TornLiteralsOf(node.children[0]));
        return;
      default:
        return;  // The node matches only the empty string.
    }
  }

  Clauses Release() {
    EndRun();
    std::stable_sort(runs_.begin(), runs_.end(),
                     [](const Run& a, const Run& b) { return a.size() > b.size(); });
    const Run& first = runs_[0];
    if (const size_t half = first.size() / 2; half > 0) {
      clauses_.push_back(
          OneOf({RunExpression(first, 0, half)}, {RunExpression(first, half, first.size())}, half));
    }
    if (runs_.size() > 1 && !runs_[1].empty()) {
      const Run& second = runs_[1];
      clauses_.push_back(OneOf({RunExpression(first, 0, first.size())},
                               {RunExpression(second, 0, second.size())}, second.size()));
    }
    return std::move(clauses_);
  }

 private:
  void EndRun() {
    if (!runs_.back().empty()) runs_.emplace_back();
  }
  void AddInner(Clauses clauses) { clauses_ = Both(std::move(clauses_), std::move(clauses)); }
  void AddChoice(const RegexNode& node) {
    EndRun();
    Clauses either = TornLiteralsOf(node.children[0]);
    for (size_t i = 1; i < node.children.size(); ++i) {
      either = Either(either, TornLiteralsOf(node.children[i]));
    }
    AddInner(std::move(either));
  }

  std::vector<Run> runs_{1};
  Clauses clauses_;
};

}  // namespace

Clauses TornLiteralsOf(const RegexNode& tree) {
  RunCollector collector;
  collector.Add(tree);
  return collector.Release();
}

}  // namespace sluice::engine::logmon
