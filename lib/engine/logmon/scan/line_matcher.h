// SPDX-License-Identifier: BSD-3-Clause
//
// Finds which filters match which lines of a text: Hyperscan scans all lines in one call, its
// reports are assigned to lines, and filters are evaluated where needles are not sufficient.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/logmon/scan/gathered_text.h"
#include "engine/logmon/scan/rule_set.h"

namespace sluice::engine::logmon {

struct MatchedLine {
  std::string_view text;  ///< Without the line end; valid during the call. Arbitrary bytes.
  FilterSet filters;      ///< Filters that match; at least one.
  bool truncated;         ///< The line exceeded the limit.
  uint32_t origin;        ///< Origin::number.
  const RuleSet& rules;
  Scratch& scratch;

  /// Returns the host that the line names for a matching filter; empty if it does not name any.
  /// Valid until the next call for the same filter, at most during the sink's call.
  std::string_view HostOf(size_t filter) const {
    return rules.filters()[filter].HostOf(text, scratch);
  }
};

/// Receives matching lines in order. It must not call the scanner that calls it.
using LineSink = absl::FunctionRef<void(const MatchedLine&)>;

/// Matches one worker's gathered texts. Allocates only at construction.
class LineMatcher {
 public:
  explicit LineMatcher(const RuleSet& rules);
  ~LineMatcher();

  void Match(const GatheredText& text, LineSink sink);

  uint64_t matched_lines() const { return matched_lines_; }
  /// Returns the number of filter evaluations, summed over lines.
  uint64_t asked() const { return asked_; }
  /// Returns the number of searches that were aborted because they took too many steps.
  uint64_t given_up() const { return scratch_.given_up(); }
  /// Returns the number of lines for which a JSON filter was evaluated but which are not valid
  /// JSON.
  uint64_t unread_json() const { return scratch_.unread_json(); }

 private:
  /// A line with needles, as a range of the text being scanned.
  struct Hit {
    uint32_t begin, end;  ///< Without the line end.
    FilterSet matches, to_ask;
  };
  /// Needles found in a line for one filter.
  struct Tally {
    uint16_t all = 0;
    bool touched = false, any = false, none = false;
  };

  static int OnNeedle(unsigned needle, unsigned long long from, unsigned long long to,
                      unsigned flags, void* self);
  void Scan(std::string_view text);
  void BeginLine(uint32_t at);
  void CloseLine();
  void EmitHits(std::span<const TextPart> parts, LineSink sink);
  void EmitAll(std::span<const TextPart> parts, const FilterSet& to_ask, LineSink sink);
  void EmitMessage(const TextPart& part, std::vector<Hit>::const_iterator& hit, FilterSet to_ask,
                   LineSink sink);
  void Emit(const TextPart& part, std::string_view line, FilterSet matches, const FilterSet& to_ask,
            LineSink sink);

  const RuleSet& rules_;
  hs_scratch* hyperscan_ = nullptr;
  Scratch scratch_;
  FilterSet all_filters_;

  std::string_view text_;
  std::vector<Hit> hits_;
  uint32_t line_begin_ = 0;  ///< Start of the line of the last hit.
  uint32_t next_line_ = 0;   ///< Position after the end of the last hit's line.
  bool disordered_ = false;  ///< Whether a needle was reported after a needle of a later line.

  // Needles found in the line of the last hit that do not by themselves determine whether a filter
  // matches.
  std::vector<uint32_t> seen_;
  std::vector<bool> is_seen_;
  std::vector<Tally> tallies_;
  std::vector<uint16_t> touched_;

  uint64_t matched_lines_ = 0;
  uint64_t asked_ = 0;
};

}  // namespace sluice::engine::logmon
