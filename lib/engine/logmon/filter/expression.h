// SPDX-License-Identifier: BSD-3-Clause
//
// Conditions joined by && and ||, with parentheses; && has the higher precedence.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "engine/logmon/filter/clauses.h"
#include "engine/logmon/filter/cursor.h"

namespace sluice::engine::logmon {

template <typename Leaf>
class Expression {
 public:
  /// Parses an expression at the cursor; `parse_leaf(cursor)` returns an optional condition.
  /// Afterwards the cursor is at a token that does not continue an expression. Returns nullopt and
  /// sets the cursor's error if the expression is invalid or has more than 32 levels of
  /// parentheses.
  template <typename ParseLeaf>
  static std::optional<Expression> Parse(Cursor& cursor, const ParseLeaf& parse_leaf) {
    return ParseJoined(cursor, parse_leaf, Kind::kOr, 0);
  }

  /// Evaluates the expression. `holds(leaf)` is not called for leaves that can no longer change the
  /// result.
  template <typename Holds>
  bool Evaluate(const Holds& holds) const {
    if (kind_ == Kind::kLeaf) return holds(*leaf_);
    for (const Expression& child : children_) {
      if (child.Evaluate(holds) == (kind_ == Kind::kOr)) return kind_ == Kind::kOr;
    }
    return kind_ == Kind::kAnd;
  }

  /// Returns the clauses for lines for which the expression holds. `clauses_of(leaf)` returns the
  /// clauses of a leaf.
  template <typename ClausesOf>
  Clauses GetClauses(const ClausesOf& clauses_of) const {
    if (kind_ == Kind::kLeaf) return clauses_of(*leaf_);
    Clauses clauses = children_[0].GetClauses(clauses_of);
    for (size_t i = 1; i < children_.size(); ++i) {
      Clauses more = children_[i].GetClauses(clauses_of);
      clauses =
          kind_ == Kind::kAnd ? Both(std::move(clauses), std::move(more)) : Either(clauses, more);
    }
    return clauses;
  }

 private:
  enum class Kind { kLeaf, kAnd, kOr };
  static constexpr int kMaxDepth = 32;

  template <typename ParseLeaf>
  static std::optional<Expression> ParseJoined(Cursor& cursor, const ParseLeaf& parse_leaf,
                                               Kind kind, int depth) {
    Expression joined;
    joined.kind_ = kind;
    do {
      auto child = kind == Kind::kOr ? ParseJoined(cursor, parse_leaf, Kind::kAnd, depth)
                                     : ParseOne(cursor, parse_leaf, depth);
      if (!child) return std::nullopt;
      joined.children_.push_back(*std::move(child));
      cursor.SkipSpace();
    } while (cursor.Consume(kind == Kind::kOr ? "||" : "&&"));
    if (joined.children_.size() > 1) return joined;
    Expression only = std::move(joined.children_[0]);
    return only;
  }

  template <typename ParseLeaf>
  static std::optional<Expression> ParseOne(Cursor& cursor, const ParseLeaf& parse_leaf,
                                            int depth) {
    cursor.SkipSpace();
    const size_t begin = cursor.position();
    if (cursor.Consume("(")) {
      if (depth == kMaxDepth) {
        cursor.FailAt(begin, "parentheses are nested more than 32 deep");
        return std::nullopt;
      }
      auto inner = ParseJoined(cursor, parse_leaf, Kind::kOr, depth + 1);
      if (inner && !cursor.Consume(")")) {
        cursor.FailAt(begin, "the closing parenthesis is missing");
        return std::nullopt;
      }
      return inner;
    }
    auto leaf = parse_leaf(cursor);
    if (!leaf) return std::nullopt;
    Expression expression;
    expression.kind_ = Kind::kLeaf;
    expression.leaf_ = std::move(leaf);
    return expression;
  }

  Kind kind_ = Kind::kLeaf;
  std::optional<Leaf> leaf_;
  std::vector<Expression> children_;
};

}  // namespace sluice::engine::logmon
