// SPDX-License-Identifier: BSD-3-Clause
//
// Many filters as one Hyperscan database.
//
// Text is scanned in block mode, the lines of many chunks in one call; a line whose bytes arrive in
// several chunks is put together first (line_scanner.h). Hyperscan's streaming mode
// would keep 30 to 140 bytes a stream instead, but it knows no lines: what `$`, an exclusion or
// a confirmation needs is the text of the whole line anyway.
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
/// By position in the rule set.
using FilterSet = std::bitset<kMaxFilters>;

/// What a needle in a line says of a filter.
struct NeedleUse {
  enum class Role : uint8_t {
    kDecides,  ///< The filter matches.
    kAsks,     ///< The filter must be asked.
    kAll,      ///< It is one of those that must all be there.
    kAny,      ///< It is one of those of which one must be there.
    kNone,     ///< The filter does not match.
  };
  uint16_t filter;
  Role role;
};

/// What filters want whose needles have the roles kAll, kAny and kNone.
struct FilterNeeds {
  uint16_t all = 0;  ///< So many different needles.
  bool any = false;  ///< One of kAny, too.
  bool decide = false;
};

/// Immutable; shared by all workers.
class RuleSet {
 public:
  static constexpr size_t kMaxNeedles = 4096;
  static constexpr size_t kMaxExpressionBytes = 8192;
  static constexpr size_t kMaxDatabaseBytes = size_t{64} << 20;

  /// At most kMaxFilters. Nothing, and one line in `error` that names the filter, if Hyperscan
  /// does not take a needle or would need more than a bounded database for it.
  static std::unique_ptr<const RuleSet> Compile(std::vector<Filter> filters, std::string* error);
  ~RuleSet();

  const std::vector<Filter>& filters() const { return filters_; }
  /// Filters that can match a line without any needle: they are asked about every line.
  const FilterSet& asked_always() const { return asked_always_; }
  /// Filters that must know who writes a line (Filter::wants_speaker).
  const FilterSet& want_speaker() const { return want_speaker_; }
  size_t database_bytes() const;
  /// Null if all filters are asked always.
  const hs_database* database() const { return database_; }

  /// Of a needle, by the number that Hyperscan reports.
  std::span<const NeedleUse> uses(uint32_t needle) const {
    return {&uses_[first_use_[needle]], first_use_[needle + 1] - first_use_[needle]};
  }
  const FilterNeeds& needs(size_t filter) const { return needs_[filter]; }
  /// What Hyperscan looks for, by the needle's number.
  const std::vector<std::string>& expressions() const { return expressions_; }

  /// Flags of every needle: `^` and `$` know LF, `.` does not match it.
  static const unsigned kHyperscanFlags;

 private:
  class Builder;

  RuleSet() = default;

  std::vector<Filter> filters_;
  std::vector<std::string> expressions_;
  std::vector<NeedleUse> uses_;
  std::vector<uint32_t> first_use_;  ///< Of each needle; one more for the end.
  std::vector<FilterNeeds> needs_;
  FilterSet asked_always_;
  FilterSet want_speaker_;
  hs_database* database_ = nullptr;
};

}  // namespace sluice::engine::logmon
