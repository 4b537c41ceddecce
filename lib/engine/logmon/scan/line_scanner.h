// SPDX-License-Identifier: BSD-3-Clause
//
// Matches lines as their bytes arrive in chunks that may end anywhere. The result does not depend
// on the chunks: each line is matched once and as a whole. The bytes of a line that arrived in
// several chunks are copied together when its end arrives. Lines of many chunks and sources are
// gathered and scanned together (gathered_text.h), no later than in Flush.
//
// A line ends with LF, CR LF or CR. Only the first bytes of a line up to the limit are matched.
// After a gap, all bytes up to the next line end are skipped, so that no match spans a gap.
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

/// Position of a source within a line; all 0: at the start of a line. This is a handle: the scanner
/// stores the bytes of the unfinished line. Call Forget() or Finish() before dropping the state.
struct LineState {
  uint32_t unfinished = 0;  ///< Number of the line in UnfinishedLines; 0: none.
  uint16_t flags = 0;       ///< Bits defined in line_scanner.cc.
};

struct ScanCounters {
  uint64_t lines = 0;  ///< Lines that ended or exceeded the limit.
  uint64_t matched_lines = 0;
  uint64_t asked = 0;        ///< Filter evaluations, summed over lines.
  uint64_t given_up = 0;     ///< Searches aborted after too many steps.
  uint64_t unread_json = 0;  ///< Lines that start with `{` and are invalid for a JSON filter.
  uint64_t truncated_lines = 0;
  /// Dropped lines: next to a gap, or unfinished when their source was forgotten.
  uint64_t torn_lines = 0;
  uint64_t no_memory_lines = 0;  ///< Dropped because the memory of unfinished lines is full.
};

struct ScanLimits {
  uint32_t line_bytes = 65536;           ///< 256 … 262144 (the size of a CloudWatch Logs event).
  uint64_t unfinished_bytes = 32 << 20;  ///< Memory for all unfinished lines together.
};

/// Scans the text of one worker's sources. Allocates only at construction. Sinks receive a `const
/// MatchedLine&` in the order in which the lines of all sources ended. A sink must not call the
/// scanner. Each call with a sink may report lines of earlier calls.
class LineScanner {
 public:
  /// `rules` must outlive the scanner.
  LineScanner(const RuleSet& rules, const ScanLimits& limits);

  static constexpr uint32_t kMaxHeaderBytes = 1024;

  /// Returns the sum of the bytes (CopiedText::sum) for callers that must verify it before Feed.
  /// Unless the line is too long for one part, the same pass copies the bytes, so that an
  /// immediately following Feed of these bytes does not copy them again. The bytes must not change
  /// until the next Flush.
  uint64_t Sum(const LineState& state, std::string_view bytes, LineSink sink);

  /// Sets the writer of the following text. A line that arrives in pieces belongs to the writer of
  /// its last piece.
  void From(const Origin& origin) { origin_ = origin; }
  /// Adds the next bytes of a source.
  void Feed(LineState& state, std::string_view bytes, LineSink sink) {
    if (state.flags == 0 && IsStaged(state, bytes)) [[likely]]
      return AddStaged(state, false);
    FeedPieces(state, bytes, sink);
  }
  /// Adds complete lines; the last line ends at the end of `bytes`, even without a line end.
  void Lines(std::string_view bytes, LineSink sink);
  /// Adds a message as a single line: line ends at the end of the message are ignored, and others
  /// become spaces. `header` is Speaker::header, at most kMaxHeaderBytes, without line ends.
  void Message(std::string_view header, std::string_view text, LineSink sink);
  /// Adds a piece of a stream's message to `state`; all pieces together are limited to
  /// MaxMessageBytes(). Call JoinParts or Forget before using the state for anything else.
  void KeepPart(LineState& state, std::string_view bytes);
  uint32_t MaxMessageBytes() const { return line_bytes_ + kMaxHeaderBytes; }
  /// Copies the pieces to `to`, which has room for MaxMessageBytes() and
  /// UnfinishedLines::kSpareBytes, and drops them. Returns the number of bytes, or 0 if there was
  /// not enough memory for the pieces.
  size_t JoinParts(LineState& state, char* to);
  /// Ends a source and its last line.
  void Finish(LineState& state, LineSink sink);
  /// Records that bytes are missing here.
  void Gap(LineState& state);
  /// Drops a source; its unfinished line counts as torn.
  void Forget(LineState& state);
  /// Matches all lines that have ended. Afterwards, their origin numbers are no longer used.
  void Flush(LineSink sink);

  ScanCounters counters() const;
  /// Returns the memory in use by unfinished lines, in bytes.
  uint64_t unfinished_bytes() const { return unfinished_.bytes_in_use(); }

 private:
  /// Bytes that were copied to their position in the text, after the previous bytes of their line.
  struct Staged {
    const char* bytes = nullptr;  ///< Null: none.
    size_t size = 0;
    uint32_t line = 0, length = 0;  ///< Number and length of the preceding unfinished line.
    char* to = nullptr;
    CopiedText copied;
  };

  void FeedPieces(LineState& state, std::string_view bytes, LineSink sink);
  void ScanPiece(LineState& state, std::string_view piece, bool whole, LineSink sink);
  void AddStaged(LineState& state, bool whole);
  bool ApplyFlags(LineState& state, std::string_view& piece);
  bool MakeFit(LineState& state, std::string_view& piece, bool whole, LineSink sink);
  static bool RemoveLine(LineState& state, std::string_view& piece, size_t line);
  void AddLine(LineState& state, std::string_view bytes, LineSink sink);
  char* Place(const LineState& state, size_t bytes, LineSink sink);
  void Stage(const LineState& state, std::string_view bytes, LineSink sink);
  bool IsStaged(const LineState& state, std::string_view bytes) const {
    return staged_.bytes == bytes.data() && staged_.size == bytes.size() && !bytes.empty() &&
           staged_.line == state.unfinished && staged_.length == unfinished_.Length(staged_.line);
  }
  void Keep(LineState& state, std::string_view bytes);

  const uint32_t line_bytes_;
  const uint32_t part_bytes_;  ///< Maximum total size of several lines in one part of the text.
  LineMatcher matcher_;
  UnfinishedLines unfinished_;
  GatheredText text_;
  Staged staged_;
  Origin origin_;
  ScanCounters counters_;
};

}  // namespace sluice::engine::logmon
