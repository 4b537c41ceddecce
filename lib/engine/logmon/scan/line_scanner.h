// SPDX-License-Identifier: BSD-3-Clause
//
// Matches lines as their bytes arrive, in chunks that end anywhere. The result does not depend on
// where they end: each line is matched once and as a whole, whether it lay in one chunk (then it
// is scanned where it lies, together with its neighbours) or came in many (then its bytes are
// copied together until its end is there).
//
// A line ends with LF, CR LF or CR. Of a line longer than the limit, the first bytes up to the
// limit are matched and the others are not looked at. Behind a gap, the rest of the torn line is
// skipped: nothing is ever matched across a gap.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "engine/logmon/scan/rule_set.h"

namespace sluice::engine::logmon {

/// Where a source is within a line. 0 is the beginning of a line. A handle: the bytes of an
/// unfinished line are the scanner's.
struct LineState {
  uint32_t unfinished = 0;  ///< Number of the memory that holds its bytes; 0: there are none.
  uint16_t flags = 0;       ///< line_scanner.cc: skipping, after CR.
};

struct MatchedLine {
  std::string_view text;  ///< Without its end; valid during the call. Any bytes.
  FilterSet filters;      ///< That match; at least one.
  bool truncated;         ///< The line was longer than the limit.
};

struct ScanCounters {
  uint64_t lines = 0;            ///< Ended.
  uint64_t matched_lines = 0;
  uint64_t asked = 0;            ///< Lines times filters whose needles did not decide.
  uint64_t truncated_lines = 0;
  uint64_t torn_lines = 0;       ///< Given up at a gap; those that were skipped to their end.
  uint64_t no_memory_lines = 0;  ///< Given up because unfinished lines fill their memory.
};

struct ScanLimits {
  uint32_t line_bytes = 65536;         ///< 256 … 262144 (an event of CloudWatch Logs).
  uint64_t unfinished_bytes = 32 << 20;  ///< All unfinished lines together.
};

/// One worker's. Allocates at construction only.
class LineScanner {
 public:
  /// `rules` outlives it.
  LineScanner(const RuleSet& rules, const ScanLimits& limits);
  ~LineScanner();

  /// The next bytes of a source. `sink(const MatchedLine&)` is called in the order of lines.
  template <typename Sink>
  void Feed(LineState& state, std::string_view bytes, Sink&& sink);
  /// Bytes that are whole lines: the last one ends with them, terminated or not.
  template <typename Sink>
  void Lines(std::string_view bytes, Sink&& sink);
  /// The source ended: so did its last line.
  template <typename Sink>
  void Finish(LineState& state, Sink&& sink);
  /// Bytes are missing here.
  void Gap(LineState& state);
  /// The source is forgotten; its unfinished line with it, as torn.
  void Forget(LineState& state);

  const ScanCounters& counters() const;
  /// Memory of unfinished lines in use.
  uint64_t unfinished_bytes() const;
};

}  // namespace sluice::engine::logmon
