// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/line_scanner.h"

#include <algorithm>
#include <cstring>

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

/// A chunk's lines are copied behind the line that they end if that makes no more than this.
constexpr uint32_t kJoinedBytes = 4096;

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
      joined_bytes_(std::min(text_bytes_, kJoinedBytes)),
      matcher_(rules, text_bytes_ + 1),
      unfinished_(limits.unfinished_bytes),
      joined_(std::make_unique_for_overwrite<char[]>(line_bytes_ + UnfinishedLines::kSpareBytes)) {
}

void LineScanner::Feed(LineState& state, std::string_view bytes, LineSink sink) {
  if (bytes.empty()) return;
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  if (state.flags & kAfterCr) {
    state.flags &= ~kAfterCr;
    if (*at == '\n' && ++at == end) return;
  }
  if (state.unfinished != 0 || (state.flags & kSkipping)) {
    at = EndLine(state, at, end, sink);
    if (at == nullptr) return;
  }
  at = WholeLines(at, end, sink);
  if (at != end) {
    Keep(state, Between(at, end), sink);
  } else if (end[-1] == '\r') {
    state.flags |= kAfterCr;
  }
}

void LineScanner::Lines(std::string_view bytes, LineSink sink) {
  const char* const end = bytes.data() + bytes.size();
  const char* const last = WholeLines(bytes.data(), end, sink);
  if (last != end) OneLine(Between(last, end), sink);
}

void LineScanner::Finish(LineState& state, LineSink sink) {
  if (state.unfinished != 0) JoinLine(state, {}, sink);
  if (state.flags & kTorn) ++counters_.torn_lines;
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

/// [at, end) goes on with the line in `state`. Returns where the first line begins that is not
/// done; null if the line in `state` does not end.
const char* LineScanner::EndLine(LineState& state, const char* at, const char* end,
                                 LineSink sink) {
  if (end - at <= joined_bytes_ && state.unfinished != 0) {
    const LineEnds ends = FindLineEnds(at, end);
    const uint32_t length = unfinished_.Length(state.unfinished);
    const size_t size = static_cast<size_t>(ends.behind_last - at);
    if (ends.count > 0 && length + size <= text_bytes_) {
      // One scan instead of two, for a copy that costs less.
      unfinished_.Take(state.unfinished, joined_.get());
      std::memcpy(joined_.get() + length, at, size);
      counters_.lines += ends.count;
      matcher_.MatchText({joined_.get(), length + size}, sink);
      return ends.behind_last;
    }
  }
  const char* const line_end = FindLineEnd(at, end);
  const bool skipping = state.flags & kSkipping;
  if (line_end == end) {
    if (!skipping) Keep(state, Between(at, end), sink);
    return nullptr;
  }
  if (skipping) {
    if (state.flags & kTorn) ++counters_.torn_lines;
    state.flags = 0;
  } else {
    JoinLine(state, Between(at, line_end), sink);
  }
  return BehindLineEnd(line_end, end);
}

/// The whole lines of [at, end), where they lie. Returns what is behind them.
const char* LineScanner::WholeLines(const char* at, const char* end, LineSink sink) {
  while (at != end) {
    // Counting reads a text from far memory faster than Hyperscan would: it comes first.
    const char* const stop = end - at > text_bytes_ ? at + text_bytes_ : end;
    const uint64_t count = CountLineEnds(at, stop);
    if (count > 0) {
      const char* behind = BehindLastLineEnd(at, stop);
      if (behind[-1] == '\r' && behind != end && *behind == '\n') ++behind;
      counters_.lines += count;
      matcher_.MatchText(Between(at, behind), sink);
      at = behind;
      continue;
    }
    const char* const line_end = FindLineEnd(stop, end);
    if (line_end == end) break;
    OneLine(Between(at, line_end), sink);
    at = BehindLineEnd(line_end, end);
  }
  return at;
}

/// `bytes` belong to the line in `state`, and are all of it that is looked at.
void LineScanner::JoinLine(LineState& state, std::string_view bytes, LineSink sink) {
  const uint32_t length = unfinished_.Length(state.unfinished);
  unfinished_.Take(state.unfinished, joined_.get());
  const size_t taken = bytes.copy(joined_.get() + length, line_bytes_ - length);
  const bool truncated = taken < bytes.size();
  ++counters_.lines;
  counters_.truncated_lines += truncated;
  matcher_.MatchLine({joined_.get(), length + taken}, truncated, sink);
}

/// `bytes` belong to the line in `state`, which does not end yet.
void LineScanner::Keep(LineState& state, std::string_view bytes, LineSink sink) {
  if (unfinished_.Length(state.unfinished) + bytes.size() > line_bytes_) {
    JoinLine(state, bytes, sink);
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
