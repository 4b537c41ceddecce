// SPDX-License-Identifier: BSD-3-Clause
//
// Expressions that need backtracking: look-around, conditions, back-references.
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

/// Scratch memory with which one thread searches for all expressions. Allocates only at
/// construction.
class Pcre2Memory {
 public:
  Pcre2Memory();

  /// Returns the number of searches that were aborted because they exceeded the step or memory
  /// limit.
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
  std::unique_ptr<pcre2_real_jit_stack_8, Free> stack_;  ///< Null without JIT.
  uint64_t given_up_ = 0;
};

/// Compiled to machine code if the system allows it. Immutable.
class Pcre2Regex {
 public:
  /// Maximum number of groups, named or not.
  static constexpr uint32_t kMaxGroups = 255;
  /// Maximum number of steps per search, as PCRE2 counts them; a search with this many steps takes
  /// a few milliseconds.
  static constexpr uint32_t kMaxSteps = 1'000'000;

  /// Returns null and one line of ASCII in `error` if PCRE2 rejects the expression or it has too
  /// many groups.
  static std::unique_ptr<const Pcre2Regex> Compile(std::string_view expression, std::string* error);

  const std::map<std::string, int>& names() const { return names_; }

  /// Finds the first match in `text`, which may be any bytes. Stores its groups in `groups`; group
  /// 0 is the whole match, and groups that did not participate have no data. Returns false if there
  /// is no match or the search was aborted. `memory` counts aborted searches.
  bool Search(std::string_view text, Pcre2Memory& memory,
              std::vector<std::string_view>* groups) const;
  /// Returns whether there is a match.
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
