// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/line_scanner.h"

#include <algorithm>

#include "engine/logmon/scan/line_ends.h"

namespace sluice::engine::logmon {
namespace {

// Bits of LineState::flags.
constexpr uint16_t kAfterCr = 1;   // An LF that comes next is of the last line's end.
constexpr uint16_t kSkipping = 2;  // Up to the next line end.
constexpr uint16_t kTorn = 4;      // What is skipped lies behind a gap.

/// Lines that are scanned together. What Hyperscan has read is still in the first-level cache
/// when its lines are counted.
constexpr uint32_t kTextBytes = 16384;

constexpr uint32_t kMinLineBytes = 256;
constexpr uint32_t kMaxLineBytes = 262144;

std::string_view Between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace

LineScanner::LineScanner(const RuleSet& rules, const ScanLimits& limits)
    : line_bytes_(std::clamp(limits.line_bytes, kMinLineBytes, kMaxLineBytes)),
      // None of several lines in so many bytes is longer than a line may be.
      text_bytes_(std::min(line_bytes_, kTextBytes)),
      matcher_(rules, text_bytes_ + 1),
      unfinished_(limits.unfinished_bytes),
      joined_(std::make_unique_for_overwrite<char[]>(line_bytes_)) {}

void LineScanner::Feed(LineState& state, std::string_view bytes, LineSink sink) {
  if (bytes.empty()) return;
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  if (state.flags & kAfterCr) {
    state.flags &= ~kAfterCr;
    if (*at == '\n' && ++at == end) return;
  }
  if (state.unfinished != 0 || (state.flags & kSkipping)) {
    const char* const line_end = FindLineEnd(at, end);
    if (line_end == end) {
      if (!(state.flags & kSkipping)) Keep(state, Between(at, end), sink);
      return;
    }
    EndLine(state, Between(at, line_end), sink);
    at = BehindLineEnd(line_end, end);
  }
  const char* const rest = BehindLastLineEnd(at, end);
  Lines(Between(at, rest), sink);
  if (rest != end) {
    Keep(state, Between(rest, end), sink);
  } else if (end[-1] == '\r') {
    state.flags |= kAfterCr;
  }
}

void LineScanner::Lines(std::string_view bytes, LineSink sink) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (at != end) {
    const char* stop = end;
    if (end - at > text_bytes_) {
      stop = BehindLastLineEnd(at, at + text_bytes_);
      if (stop == at) {
        const char* const line_end = FindLineEnd(at + text_bytes_, end);
        OneLine(Between(at, line_end), sink);
        at = line_end == end ? end : BehindLineEnd(line_end, end);
        continue;
      }
      if (stop[-1] == '\r' && *stop == '\n') ++stop;
    }
    counters_.lines += matcher_.MatchText(Between(at, stop), sink);
    at = stop;
  }
}

void LineScanner::Finish(LineState& state, LineSink sink) {
  if (state.unfinished != 0 || (state.flags & kSkipping)) EndLine(state, {}, sink);
  state = {};
}

void LineScanner::Gap(LineState& state) {
  Forget(state);
  state.flags = kSkipping | kTorn;
}

void LineScanner::Forget(LineState& state) {
  if (state.unfinished != 0) ++counters_.torn_lines;
  unfinished_.Drop(state.unfinished);
  state = {};
}

ScanCounters LineScanner::counters() const {
  ScanCounters counters = counters_;
  counters.matched_lines = matcher_.matched_lines();
  counters.asked = matcher_.asked();
  return counters;
}

/// The line in `state` ends behind `rest`.
void LineScanner::EndLine(LineState& state, std::string_view rest, LineSink sink) {
  if (state.flags & kSkipping) {
    if (state.flags & kTorn) ++counters_.torn_lines;
    state.flags = 0;
    return;
  }
  const uint32_t length = unfinished_.Length(state.unfinished);
  unfinished_.Take(state.unfinished, joined_.get());
  const size_t taken = std::min<size_t>(rest.size(), line_bytes_ - length);
  rest.copy(joined_.get() + length, taken);
  const bool truncated = taken < rest.size();
  ++counters_.lines;
  counters_.truncated_lines += truncated;
  matcher_.MatchLine({joined_.get(), length + taken}, truncated, sink);
}

/// `bytes` belong to the line in `state`, which does not end yet.
void LineScanner::Keep(LineState& state, std::string_view bytes, LineSink sink) {
  if (unfinished_.Length(state.unfinished) + bytes.size() > line_bytes_) {
    EndLine(state, bytes, sink);
    state.flags = kSkipping;
  } else if (!unfinished_.Append(state.unfinished, bytes)) {
    ++counters_.no_memory_lines;
    state.flags = kSkipping;
  }
}

/// `line` lies here as a whole.
void LineScanner::OneLine(std::string_view line, LineSink sink) {
  const bool truncated = line.size() > line_bytes_;
  ++counters_.lines;
  counters_.truncated_lines += truncated;
  matcher_.MatchLine(line.substr(0, line_bytes_), truncated, sink);
}

}  // namespace sluice::engine::logmon
