// SPDX-License-Identifier: BSD-3-Clause
//
// Expressions that only backtracking can run: look-around, conditions, back-references.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;
struct pcre2_real_jit_stack_8;
struct pcre2_real_match_context_8;
struct pcre2_real_match_data_8;

namespace sluice::engine::logmon {

/// What searching takes, one thread's, for all expressions. Allocates at construction only.
class Pcre2Memory {
 public:
  Pcre2Memory();

  /// Searches that were given up, as they took more steps or memory than one may.
  uint64_t given_up() const { return given_up_; }

 private:
  friend class Pcre2Regex;
  struct Free {
    void operator()(pcre2_real_match_data_8* data) const;
    void operator()(pcre2_real_match_context_8* context) const;
    void operator()(pcre2_real_jit_stack_8* stack) const;
  };
  std::unique_ptr<pcre2_real_match_data_8, Free> data_;
  std::unique_ptr<pcre2_real_match_context_8, Free> context_;
  std::unique_ptr<pcre2_real_jit_stack_8, Free> stack_;  ///< Null where there is no JIT.
  uint64_t given_up_ = 0;
};

/// Compiled to machine code where the system allows that. Immutable.
class Pcre2Regex {
 public:
  /// Groups of an expression, named or not.
  static constexpr uint32_t kMaxGroups = 255;
  /// Steps of a search, in PCRE2's counting; some milliseconds.
  static constexpr uint32_t kMaxSteps = 1'000'000;

  /// Null, and one line of ASCII in `error`, if PCRE2 does not take it or it has too many groups.
  static std::unique_ptr<const Pcre2Regex> Compile(std::string_view expression, std::string* error);

  const std::map<std::string, int>& names() const { return names_; }

  /// The first match in `text`, any bytes; its groups, 0 for all of it, in `groups`, without data
  /// where a group has none. False also if the search was given up: it is counted in `memory`.
  bool Search(std::string_view text, Pcre2Memory& memory,
              std::vector<std::string_view>* groups) const;
  /// Whether there is one.
  bool Matches(std::string_view text, Pcre2Memory& memory) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  Pcre2Regex() = default;

  std::unique_ptr<pcre2_real_code_8, Free> code_;
  std::map<std::string, int> names_;
  uint32_t groups_ = 0;
};

}  // namespace sluice::engine::logmon
