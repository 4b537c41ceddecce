// SPDX-License-Identifier: BSD-3-Clause
//
// Matches lines as their bytes arrive, in chunks that end anywhere. The result does not depend on
// where they end: each line is matched once and as a whole, whether it lay in one chunk or came in
// many; then its bytes are copied together once its end is there. Lines of many chunks and sources
// are gathered and looked at in one scan (gathered_text.h): at Flush at the latest.
//
// A line ends with LF, CR LF or CR. Of a line longer than the limit, the first bytes up to the
// limit are matched, and the others are not looked at. Behind a gap, everything up to the next
// line end is skipped: nothing is ever matched across a gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/logmon/scan/gathered_text.h"
#include "engine/logmon/scan/line_matcher.h"
#include "engine/logmon/scan/rule_set.h"
#include "engine/logmon/scan/text_copy.h"
#include "engine/logmon/scan/unfinished_lines.h"

namespace sluice::engine::logmon {

/// Where a source is within a line. 0 is the beginning of a line. A handle: the bytes of an
/// unfinished line are the scanner's. Whoever drops one calls Forget() or Finish() first.
struct LineState {
  uint32_t unfinished = 0;  ///< Number of the memory that holds its bytes; 0: there are none.
  uint16_t flags = 0;       ///< line_scanner.cc: skipping, after CR.
};

struct ScanCounters {
  uint64_t lines = 0;  ///< Ended, or longer than the limit.
  uint64_t matched_lines = 0;
  uint64_t asked = 0;        ///< Lines times filters whose needles did not decide.
  uint64_t given_up = 0;     ///< Searches in lines that took too many steps.
  uint64_t unread_json = 0;  ///< Lines that begin with `{`, that a filter of JSON was asked
                             ///< about, and that are wrong as JSON.
  uint64_t truncated_lines = 0;
  uint64_t torn_lines = 0;       ///< Given up: before a gap, behind one, or with their source.
  uint64_t no_memory_lines = 0;  ///< Given up because unfinished lines fill their memory.
};

struct ScanLimits {
  uint32_t line_bytes = 65536;           ///< 256 … 262144 (an event of CloudWatch Logs).
  uint64_t unfinished_bytes = 32 << 20;  ///< All unfinished lines together.
};

/// One worker's. Allocates at construction only. A sink is called with a `const MatchedLine&`, in
/// the order in which lines ended, of all sources; it must not call the scanner. Each call with a
/// sink may tell it of lines that came with earlier calls.
class LineScanner {
 public:
  /// `rules` outlives it.
  LineScanner(const RuleSet& rules, const ScanLimits& limits);

  static constexpr uint32_t kMaxHeaderBytes = 1024;

  /// For a caller who must know the sum of bytes (CopiedText::sum) before they may be fed. They are
  /// copied in the same pass, and Feed with them, if it follows at once, makes none. The bytes stay
  /// as they are until the next Flush.
  uint64_t Sum(const LineState& state, std::string_view bytes, LineSink sink);

  /// Who writes what comes next. A line that came in pieces is its last piece's.
  void From(const Origin& origin) { origin_ = origin; }
  /// The next bytes of a source.
  void Feed(LineState& state, std::string_view bytes, LineSink sink);
  /// Bytes that are whole lines: the last one ends with them, terminated or not.
  void Lines(std::string_view bytes, LineSink sink);
  /// A message, which is one line whatever it holds: a line end inside counts as a space, those
  /// behind it do not count. `header`: Speaker::header, at most kMaxHeaderBytes, without line ends.
  void Message(std::string_view header, std::string_view text, LineSink sink);
  /// A message of a stream that comes in pieces: keeps the next of them in `state`, all together up
  /// to MaxMessageBytes(). JoinParts, or Forget, before the state is used for anything else.
  void KeepPart(LineState& state, std::string_view bytes);
  uint32_t MaxMessageBytes() const { return line_bytes_ + kMaxHeaderBytes; }
  /// Copies the kept pieces to `to`, which has room for MaxMessageBytes() and kSpareBytes of
  /// UnfinishedLines, and drops them. The number of their bytes; 0: memory for them was missing.
  size_t JoinParts(LineState& state, char* to);
  /// The source ended: so did its last line.
  void Finish(LineState& state, LineSink sink);
  /// Bytes are missing here.
  void Gap(LineState& state);
  /// The source is forgotten; its unfinished line with it, as torn.
  void Forget(LineState& state);
  /// Matches all lines that have ended. Their origins' numbers mean nothing any more.
  void Flush(LineSink sink);

  ScanCounters counters() const;
  /// Memory of unfinished lines in use.
  uint64_t unfinished_bytes() const { return unfinished_.bytes_in_use(); }

 private:
  /// Bytes that were copied to where they would go, behind what there is of their line.
  struct Staged {
    const char* bytes = nullptr;  ///< Null: there are none.
    size_t size = 0;
    uint32_t line = 0, length = 0;  ///< Number and bytes of the unfinished line before them.
    char* to = nullptr;
    CopiedText copied;
  };

  void TakePiece(LineState& state, std::string_view piece, bool whole, LineSink sink);
  bool TakeUp(LineState& state, std::string_view& piece);
  bool MakeFit(LineState& state, std::string_view& piece, bool whole, LineSink sink);
  static bool RemoveLine(LineState& state, std::string_view& piece, size_t line);
  void AddLine(LineState& state, std::string_view bytes, LineSink sink);
  char* Place(const LineState& state, size_t bytes, LineSink sink);
  void Stage(const LineState& state, std::string_view bytes, LineSink sink);
  bool IsStaged(const LineState& state, std::string_view bytes) const;
  void Keep(LineState& state, std::string_view bytes);

  const uint32_t line_bytes_;
  const uint32_t part_bytes_;  ///< Lines that become one part of the text.
  LineMatcher matcher_;
  UnfinishedLines unfinished_;
  GatheredText text_;
  Staged staged_;
  Origin origin_;
  ScanCounters counters_;
};

}  // namespace sluice::engine::logmon
