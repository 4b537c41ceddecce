// SPDX-License-Identifier: BSD-3-Clause
//
// Many filters as one Hyperscan database.
//
// Text is scanned in block mode, line after line of one chunk in one call; a line whose bytes
// arrive in several chunks is put together first (line_scanner.h). Hyperscan's streaming mode
// would keep 30 to 140 bytes a stream instead, but it knows no lines: what `$`, an exclusion or
// a confirmation needs is the text of the whole line anyway.
#pragma once

#include <bitset>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/logmon/filter/filter.h"

struct hs_database;
struct hs_scratch;

namespace sluice::engine::logmon {

inline constexpr size_t kMaxFilters = 256;
/// By position in the rule set.
using FilterSet = std::bitset<kMaxFilters>;

/// Immutable; shared by all workers.
class RuleSet {
 public:
  /// At most kMaxFilters. Nothing, and one line in `error` that names the filter, if Hyperscan
  /// does not take a needle or would need more than a bounded database for it.
  static std::unique_ptr<const RuleSet> Compile(std::vector<Filter> filters, std::string* error);
  ~RuleSet();

  const std::vector<Filter>& filters() const { return filters_; }
  /// Filters that can match a line without any needle: they are asked about every line.
  const FilterSet& asked_always() const { return asked_always_; }
  size_t database_bytes() const;
  const hs_database* database() const { return database_; }

 private:
  RuleSet();
  std::vector<Filter> filters_;
  FilterSet asked_always_;
  hs_database* database_ = nullptr;
};

}  // namespace sluice::engine::logmon
