// SPDX-License-Identifier: BSD-3-Clause
//
// Matches lines as their bytes arrive, in chunks that end anywhere. The result does not depend on
// where they end: each line is matched once and as a whole, whether it lay in one chunk (then it
// is scanned where it lies, together with its neighbours) or came in many (then its bytes are
// copied together until its end is there; the other lines of a small chunk are copied behind them,
// as a second scan would cost more).
//
// A line ends with LF, CR LF or CR. Of a line longer than the limit, the first bytes up to the
// limit are matched, as soon as it is known to be longer, and the others are not looked at. Behind
// a gap, everything up to the next line end is skipped: nothing is ever matched across a gap.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/logmon/scan/line_matcher.h"
#include "engine/logmon/scan/rule_set.h"
#include "engine/logmon/scan/unfinished_lines.h"

namespace sluice::engine::logmon {

/// Where a source is within a line. 0 is the beginning of a line. A handle: the bytes of an
/// unfinished line are the scanner's. Whoever drops one calls Forget() or Finish() first.
struct LineState {
  uint32_t unfinished = 0;  ///< Number of the memory that holds its bytes; 0: there are none.
  uint16_t flags = 0;       ///< line_scanner.cc: skipping, after CR.
};

struct ScanCounters {
  uint64_t lines = 0;            ///< Ended, or longer than the limit.
  uint64_t matched_lines = 0;
  uint64_t asked = 0;            ///< Lines times filters whose needles did not decide.
  uint64_t given_up = 0;         ///< Searches in lines that took too many steps.
  uint64_t truncated_lines = 0;
  uint64_t torn_lines = 0;       ///< Given up: before a gap, behind one, or with their source.
  uint64_t no_memory_lines = 0;  ///< Given up because unfinished lines fill their memory.
};

struct ScanLimits {
  uint32_t line_bytes = 65536;         ///< 256 … 262144 (an event of CloudWatch Logs).
  uint64_t unfinished_bytes = 32 << 20;  ///< All unfinished lines together.
};

/// One worker's. Allocates at construction only. A sink is called with a `const MatchedLine&`, in
/// the order of lines; it must not call the scanner.
class LineScanner {
 public:
  /// `rules` outlives it.
  LineScanner(const RuleSet& rules, const ScanLimits& limits);

  /// Who writes what comes next, for filters that put lines together. A line that came in pieces
  /// is its last piece's.
  void SetSpeaker(const Speaker& speaker) { matcher_.SetSpeaker(speaker); }
  /// The next bytes of a source.
  void Feed(LineState& state, std::string_view bytes, LineSink sink);
  /// Bytes that are whole lines: the last one ends with them, terminated or not.
  void Lines(std::string_view bytes, LineSink sink);
  /// The source ended: so did its last line.
  void Finish(LineState& state, LineSink sink);
  /// Bytes are missing here.
  void Gap(LineState& state);
  /// The source is forgotten; its unfinished line with it, as torn.
  void Forget(LineState& state);

  ScanCounters counters() const;
  /// Memory of unfinished lines in use.
  uint64_t unfinished_bytes() const { return unfinished_.bytes_in_use(); }

 private:
  const char* EndLine(LineState& state, const char* at, const char* end, LineSink sink);
  void EndChunk(LineState& state, const char* at, const char* end, LineSink sink);
  void WholeLines(const char* at, const char* end, LineSink sink);
  void JoinLine(LineState& state, std::string_view bytes, LineSink sink);
  void Keep(LineState& state, std::string_view bytes, LineSink sink);
  void OneLine(std::string_view line, LineSink sink);

  const uint32_t line_bytes_;
  const uint32_t text_bytes_;  ///< Lines that are scanned together.
  const uint32_t joined_bytes_;
  LineMatcher matcher_;
  UnfinishedLines unfinished_;
  std::unique_ptr<char[]> joined_;  ///< Room for a line, and what Take() may write behind it.
  char* joined_rest_;  ///< In it: where a chunk is copied to, behind the line that it ends.
  ScanCounters counters_;
};

}  // namespace sluice::engine::logmon
