// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/line_scanner.h"

#include <algorithm>
#include <cstdint>

#include "engine/logmon/scan/line_ends.h"

namespace sluice::engine::logmon {
namespace {

// Bits of LineState::flags.
constexpr uint16_t kAfterCr = 1;   // An LF that comes next is of the last line's end.
constexpr uint16_t kSkipping = 2;  // Up to the next line end.
constexpr uint16_t kTorn = 4;      // What is skipped lies behind a gap.

/// Lines that are scanned together. What Hyperscan has read is still in a near cache when its
/// lines are counted.
constexpr uint32_t kTextBytes = 32768;

/// A chunk's lines are copied behind the line that they end if that makes no more than this.
constexpr uint32_t kJoinedBytes = 4096;
constexpr uint32_t kCacheLine = 64;

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
      joined_(std::make_unique_for_overwrite<char[]>(
          std::max(line_bytes_, 2 * kJoinedBytes + kCacheLine) + UnfinishedLines::kSpareBytes)),
      joined_rest_(joined_.get() + kJoinedBytes) {
  joined_rest_ += -reinterpret_cast<uintptr_t>(joined_rest_) % kCacheLine;
}

void LineScanner::Feed(LineState& state, std::string_view bytes, LineSink sink) {
  if (bytes.empty()) return;
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  // Where its last line ends is looked for first; everything else goes forward.
  __builtin_prefetch(end - 1);
  if (state.flags & kAfterCr) {
    state.flags &= ~kAfterCr;
    if (*at == '\n' && ++at == end) return;
  }
  if (state.unfinished != 0 || (state.flags & kSkipping)) {
    at = EndLine(state, at, end, sink);
    if (at == nullptr) return;
  }
  const char* const behind = BehindLastLineEnd(at, end);
  WholeLines(at, behind, sink);
  EndChunk(state, behind, end, sink);
}

void LineScanner::Lines(std::string_view bytes, LineSink sink) {
  WholeLines(bytes.data(), bytes.data() + bytes.size(), sink);
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
  counters.given_up = matcher_.given_up();
  return counters;
}

/// [at, end) goes on with the line in `state`. Returns where the first line begins that is not
/// done; null if all is done.
const char* LineScanner::EndLine(LineState& state, const char* at, const char* end,
                                 LineSink sink) {
  const char* const line_end = FindLineEnd(at, end);
  const bool skipping = state.flags & kSkipping;
  if (line_end == end) {
    if (!skipping) Keep(state, Between(at, end), sink);
    return nullptr;
  }
  if (skipping) {
    if (state.flags & kTorn) ++counters_.torn_lines;
    state.flags = 0;
    return BehindLineEnd(line_end, end);
  }
  const uint32_t length = unfinished_.Length(state.unfinished);
  const size_t size = static_cast<size_t>(end - at);
  if (length + size > joined_bytes_) {
    JoinLine(state, Between(at, line_end), sink);
    return BehindLineEnd(line_end, end);
  }
  // One scan instead of two, for a copy that costs less. Stores to whole cache lines.
  char* const rest = joined_rest_;
  unfinished_.Take(state.unfinished, rest - length);
  counters_.lines += CopyAndCountLineEnds(at, end, rest);
  const char* const behind = BehindLastLineEnd(rest, rest + size);
  matcher_.MatchText(Between(rest - length, behind), sink);
  EndChunk(state, behind, rest + size, sink);
  return nullptr;
}

/// [at, end) is behind the last line end of a chunk that ends there.
void LineScanner::EndChunk(LineState& state, const char* at, const char* end, LineSink sink) {
  if (at != end) {
    Keep(state, Between(at, end), sink);
  } else if (end[-1] == '\r') {
    state.flags |= kAfterCr;
  }
}

/// [at, end) is whole lines; the last one may have no end. They are scanned where they lie.
void LineScanner::WholeLines(const char* at, const char* end, LineSink sink) {
  while (at != end) {
    const char* behind = end;
    if (end - at > text_bytes_) {
      behind = BehindLastLineEnd(at, at + text_bytes_);
      if (behind == at) {
        const char* const line_end = FindLineEnd(at + text_bytes_, end);
        OneLine(Between(at, line_end), sink);
        at = line_end == end ? end : BehindLineEnd(line_end, end);
        continue;
      }
      if (behind[-1] == '\r' && *behind == '\n') ++behind;
    }
    matcher_.MatchText(Between(at, behind), sink);
    const bool ended = behind[-1] == '\n' || behind[-1] == '\r';
    counters_.lines += CountLineEnds(at, behind) + (ended ? 0 : 1);
    at = behind;
  }
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
