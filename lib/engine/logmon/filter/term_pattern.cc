// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/term_pattern.h"

#include <absl/strings/ascii.h>

#include <algorithm>

#include "engine/logmon/filter/literal.h"
#include "engine/logmon/filter/search.h"

namespace sluice::engine::logmon {
namespace {

bool IsBare(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

std::optional<TermPattern> TermPattern::Parse(Cursor& cursor) {
  TermPattern pattern;
  for (cursor.SkipSpace(); !cursor.AtEnd(); cursor.SkipSpace()) {
    std::vector<Term>* terms = &pattern.all_;
    if (cursor.Consume("?")) {
      terms = &pattern.any_;
    } else if (cursor.Consume("-")) {
      terms = &pattern.none_;
    }
    auto term = ParseTerm(cursor);
    if (!term) return std::nullopt;
    terms->push_back(*std::move(term));
  }
  if (!pattern.all_.empty() || !pattern.none_.empty()) pattern.any_.clear();
  return pattern;
}

std::optional<TermPattern::Term> TermPattern::ParseTerm(Cursor& cursor) {
  Term term;
  if (cursor.Peek() == '"') {
    auto text = cursor.ReadQuoted();
    if (!text) return std::nullopt;
    term.text = *std::move(text);
  } else if (cursor.Peek() == '%') {
    term.regex = AwsRegex::Parse(cursor);
    if (!term.regex) return std::nullopt;
  } else {
    const std::string_view rest = cursor.rest();
    const auto end = std::find_if_not(rest.begin(), rest.end(), IsBare);
    term.text.assign(rest.begin(), end);
    cursor.Advance(term.text.size());
    if (term.text.empty()) {
      cursor.Fail(cursor.AtEnd()
                      ? "a term is missing"
                      : "a term with characters other than letters, digits and _ must be in "
                        "double quotes");
      return std::nullopt;
    }
  }
  if (!cursor.AtEnd() && !absl::ascii_isspace(static_cast<unsigned char>(cursor.Peek()))) {
    cursor.Fail("a term with characters other than letters, digits and _ must be in double quotes");
    return std::nullopt;
  }
  return term;
}

bool TermPattern::Term::IsIn(std::string_view line) const {
  return regex ? regex->Matches(line) : Contains(line, text);
}

std::optional<RegexNeedle> TermPattern::Term::GetNeedle() const {
  if (regex) return regex->line_needle();
  if (text.empty()) return std::nullopt;
  return RegexNeedle{.needle = {ExpressionOf(text)}, .is_exact = true};
}

bool TermPattern::Matches(std::string_view line) const {
  const auto is_in = [line](const Term& term) { return term.IsIn(line); };
  return std::all_of(all_.begin(), all_.end(), is_in) &&
         std::none_of(none_.begin(), none_.end(), is_in) &&
         (any_.empty() || std::any_of(any_.begin(), any_.end(), is_in));
}

Needles TermPattern::GetNeedles() const {
  Needles needles;
  needles.decide = true;
  for (const Term& term : all_) {
    const auto needle = term.GetNeedle();
    needles.decide &=
        needle ? needle->is_exact : !term.regex;  // Every line contains the empty string.
    if (needle) needles.all.push_back(needle->needle);
  }
  for (const Term& term : none_) {
    // A line may contain an inexact needle without matching the term.
    const auto needle = term.GetNeedle();
    const bool is_exact = needle && needle->is_exact;
    needles.decide &= is_exact;
    if (is_exact) needles.none.push_back(needle->needle);
  }
  bool any_is_complete = true;
  for (const Term& term : any_) {
    const auto needle = term.GetNeedle();
    any_is_complete &= needle.has_value();
    needles.decide &= needle && needle->is_exact;
    if (needle) needles.any.push_back(needle->needle);
  }
  if (!any_is_complete) needles.any.clear();
  return needles;
}

}  // namespace sluice::engine::logmon
