// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/rule_set.h"

#include <hs/hs.h>

#include <cstdlib>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice::engine::logmon {
namespace {

using Role = NeedleUse::Role;

struct FreeCompileError {
  void operator()(hs_compile_error_t* error) const { hs_free_compile_error(error); }
};
using CompileError = std::unique_ptr<hs_compile_error_t, FreeCompileError>;

}  // namespace

const unsigned RuleSet::kHyperscanFlags = HS_FLAG_MULTILINE;

/// Assigns numbers to needles, filter by filter.
class RuleSet::Builder {
 public:
  explicit Builder(RuleSet* rules) : rules_(*rules) {}

  /// Adds the needles of a filter. Returns false with the reason in `error` on failure.
  bool Add(size_t filter, std::string* error) {
    const Needles& asked = rules_.filters_[filter].needles();
    Expressions all, any, none;
    if (!Sort(asked.all, &all, error) || !Sort(asked.any, &any, error) ||
        !Sort(asked.none, &none, error)) {
      return false;
    }
    // The presence of a needle that matches the empty string cannot be determined.
    const bool decide =
        asked.decide && !all.some_may_be_empty && !any.some_may_be_empty && !none.some_may_be_empty;
    if (any.some_may_be_empty) any.sought.clear();
    if (all.sought.empty() && any.sought.empty()) {
      rules_.asked_always_.set(filter);
      return true;
    }
    rules_.needs_[filter] = {static_cast<uint16_t>(all.sought.size()), !any.sought.empty(), decide};
    const bool one_suffices =
        none.sought.empty() &&
        (all.sought.empty() || (all.sought.size() == 1 && any.sought.empty()));
    const Role alone = decide ? Role::kDecides : Role::kAsks;
    Use(filter, all, one_suffices ? alone : Role::kAll);
    Use(filter, any, one_suffices ? alone : Role::kAny);
    Use(filter, none, Role::kNone);
    if (uses_.size() > kMaxNeedles) {
      *error = absl::StrCat("more than ", kMaxNeedles, " expressions in all filters: give fewer");
      return false;
    }
    return true;
  }

  /// Must be called after the last Add.
  void Finish() {
    for (const std::vector<NeedleUse>& uses : uses_) {
      rules_.first_use_.push_back(static_cast<uint32_t>(rules_.uses_.size()));
      rules_.uses_.insert(rules_.uses_.end(), uses.begin(), uses.end());
    }
    rules_.first_use_.push_back(static_cast<uint32_t>(rules_.uses_.size()));
  }

 private:
  struct Expressions {
    std::set<std::string> sought;
    bool some_may_be_empty = false;
  };

  static bool Sort(const std::vector<Needle>& needles, Expressions* to, std::string* error) {
    for (const Needle& needle : needles) {
      const std::optional<bool> empty = MayBeEmpty(needle.expression, error);
      if (!empty) return false;
      if (*empty) {
        to->some_may_be_empty = true;
      } else {
        to->sought.insert(needle.expression);
      }
    }
    return true;
  }

  static std::optional<bool> MayBeEmpty(const std::string& expression, std::string* error) {
    if (expression.size() > kMaxExpressionBytes || expression.find('\0') != std::string::npos) {
      *error = "the filter's expression is too long or contains a zero byte";
      return std::nullopt;
    }
    if (expression.empty()) return true;
    hs_expr_info_t* info = nullptr;
    hs_compile_error_t* wrong = nullptr;
    const hs_error_t result =
        hs_expression_info(expression.c_str(), kHyperscanFlags, &info, &wrong);
    const CompileError owned(wrong);
    if (result != HS_SUCCESS) {
      *error = absl::StrCat("rejected by Hyperscan: ", wrong ? wrong->message : "no memory");
      return std::nullopt;
    }
    const bool may_be_empty = info->min_width == 0;
    std::free(info);
    return may_be_empty;
  }

  void Use(size_t filter, const Expressions& expressions, Role role) {
    for (const std::string& expression : expressions.sought) {
      const auto [known, is_new] = numbers_.emplace(expression, uses_.size());
      if (is_new) {
        rules_.expressions_.push_back(expression);
        uses_.emplace_back();
      }
      uses_[known->second].push_back({static_cast<uint16_t>(filter), role});
    }
  }

  RuleSet& rules_;
  std::vector<std::vector<NeedleUse>> uses_;
  std::unordered_map<std::string, size_t> numbers_;
};

std::unique_ptr<const RuleSet> RuleSet::Compile(std::vector<Filter> filters, std::string* error) {
  if (filters.size() > kMaxFilters) {
    *error = absl::StrCat(filters.size(), " filters exceed the limit of ", kMaxFilters);
    return nullptr;
  }
  std::unique_ptr<RuleSet> rules(new RuleSet);
  rules->filters_ = std::move(filters);
  rules->needs_.resize(rules->filters_.size());
  Builder builder(rules.get());
  for (size_t i = 0; i < rules->filters_.size(); ++i) {
    rules->want_speaker_[i] = rules->filters_[i].wants_speaker();
    std::string why;
    if (!builder.Add(i, &why)) {
      *error = absl::StrCat("filter ", i + 1, ": ", why);
      return nullptr;
    }
  }
  builder.Finish();
  if (rules->expressions_.empty()) return rules;

  const size_t count = rules->expressions_.size();
  std::vector<const char*> expressions;
  std::vector<unsigned> flags(count, kHyperscanFlags), ids;
  for (const std::string& expression : rules->expressions_) {
    ids.push_back(static_cast<unsigned>(ids.size()));
    expressions.push_back(expression.c_str());
  }
  hs_compile_error_t* wrong = nullptr;
  const hs_error_t result =
      hs_compile_multi(expressions.data(), flags.data(), ids.data(), static_cast<unsigned>(count),
                       HS_MODE_BLOCK, nullptr, &rules->database_, &wrong);
  const CompileError owned(wrong);
  if (result != HS_SUCCESS) {
    const bool known = wrong && wrong->expression >= 0;
    *error = absl::StrCat(
        known ? absl::StrCat("filter ", rules->uses(wrong->expression).front().filter + 1)
              : "the filters together",
        ": rejected by Hyperscan: ", wrong ? wrong->message : "no memory");
    return nullptr;
  }
  if (rules->database_bytes() > kMaxDatabaseBytes) {
    *error = absl::StrCat("all filters together need ", rules->database_bytes(),
                          " bytes, which exceeds the limit of ", kMaxDatabaseBytes);
    return nullptr;
  }
  return rules;
}

RuleSet::~RuleSet() { hs_free_database(database_); }

size_t RuleSet::database_bytes() const {
  size_t bytes = 0;
  if (database_) hs_database_size(database_, &bytes);
  return bytes;
}

}  // namespace sluice::engine::logmon
