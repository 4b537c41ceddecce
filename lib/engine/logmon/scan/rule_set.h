// SPDX-License-Identifier: BSD-3-Clause
//
// Compiles many filters into one Hyperscan database.
//
// Text is scanned in block mode, with the lines of many chunks in one call; a line that arrives in
// several chunks is joined first (line_scanner.h). Hyperscan's streaming mode would need 30 to 140
// bytes per stream instead. However, it does not recognise lines, and `$`, exclusions and
// confirmations need the text of the whole line anyway.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/logmon/filter/filter.h"

struct hs_database;
struct hs_scratch;

namespace sluice::engine::logmon {

inline constexpr size_t kMaxFilters = 256;
/// Set of filters, indexed by their position in the rule set.
using FilterSet = std::bitset<kMaxFilters>;

/// The effect of a needle in a line on a filter.
struct NeedleUse {
  enum class Role : uint8_t {
    kDecides,  ///< The filter matches.
    kAsks,     ///< The filter must be evaluated.
    kAll,      ///< One of several needles that must all be present.
    kAny,      ///< One of several needles of which one must be present.
    kNone,     ///< The filter does not match.
  };
  uint16_t filter;
  Role role;
};

/// Requirements of a filter whose needles have the roles kAll, kAny and kNone.
struct FilterNeeds {
  uint16_t all = 0;  ///< Number of different kAll needles that must be present.
  bool any = false;  ///< A kAny needle must also be present.
  bool decide = false;
};

/// The compiled filters; immutable and shared by all workers.
class RuleSet {
 public:
  static constexpr size_t kMaxNeedles = 4096;
  static constexpr size_t kMaxExpressionBytes = 8192;
  static constexpr size_t kMaxDatabaseBytes = size_t{64} << 20;

  /// Compiles at most kMaxFilters filters. Returns null and one line in `error` if there are more,
  /// if Hyperscan rejects a needle, or if the database would exceed its limit. The line names the
  /// filter if a single filter is the cause.
  static std::unique_ptr<const RuleSet> Compile(std::vector<Filter> filters, std::string* error);
  ~RuleSet();

  const std::vector<Filter>& filters() const { return filters_; }
  /// Returns the filters that can match lines without any needle; they are evaluated for every
  /// line.
  const FilterSet& asked_always() const { return asked_always_; }
  /// Returns the filters that need the writer of a line (Filter::wants_speaker).
  const FilterSet& want_speaker() const { return want_speaker_; }
  size_t database_bytes() const;
  /// Returns the compiled needles; null if all filters are in asked_always().
  const hs_database* database() const { return database_; }

  /// Returns the uses of a needle, by the number that Hyperscan reports.
  std::span<const NeedleUse> uses(uint32_t needle) const {
    return {&uses_[first_use_[needle]], first_use_[needle + 1] - first_use_[needle]};
  }
  const FilterNeeds& needs(size_t filter) const { return needs_[filter]; }
  /// Returns the expressions that Hyperscan searches for, by needle number.
  const std::vector<std::string>& expressions() const { return expressions_; }

  /// Flags of all needles: `^` and `$` match at LF, `.` does not match LF.
  static const unsigned kHyperscanFlags;

 private:
  class Builder;

  RuleSet() = default;

  std::vector<Filter> filters_;
  std::vector<std::string> expressions_;
  std::vector<NeedleUse> uses_;
  std::vector<uint32_t> first_use_;  ///< First use of each needle, plus one element for the end.
  std::vector<FilterNeeds> needs_;
  FilterSet asked_always_;
  FilterSet want_speaker_;
  hs_database* database_ = nullptr;
};

}  // namespace sluice::engine::logmon
