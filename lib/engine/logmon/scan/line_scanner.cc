// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/line_scanner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/logmon/scan/line_ends.h"

namespace sluice::engine::logmon {
namespace {

// Bits of LineState::flags.
constexpr uint16_t kAfterCr = 1;   // An LF that comes next is of the last line's end.
constexpr uint16_t kSkipping = 2;  // Up to the next line end.
constexpr uint16_t kTorn = 4;      // What is skipped lies behind a gap.

constexpr uint32_t kMinLineBytes = 256;
constexpr uint32_t kMaxLineBytes = 262144;

std::string_view Between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace

LineScanner::LineScanner(const RuleSet& rules, const ScanLimits& limits)
    : line_bytes_(std::clamp(limits.line_bytes, kMinLineBytes, kMaxLineBytes)),
      // None of several lines in so many bytes is longer than a line may be.
      part_bytes_(std::min(line_bytes_, GatheredText::kBytes)),
      matcher_(rules),
      unfinished_(limits.unfinished_bytes),
      // And the LF of a CR LF.
      text_(line_bytes_ + 1) {
  static_assert(UnfinishedLines::kSpareBytes <= GatheredText::kSpareBytes);
}

void LineScanner::Feed(LineState& state, std::string_view bytes, LineSink sink) {
  if (bytes.empty()) return;
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  if (state.flags != 0) {
    if (state.flags & kAfterCr) {
      state.flags &= ~kAfterCr;
      if (*at == '\n' && ++at == end) return;
    }
    if (state.flags & kSkipping) {
      at = SkipLine(state, at, end);
      if (at == nullptr) return;
    }
  }
  const char* const behind = BehindLastLineEnd(at, end);
  AddLines(state, at, behind, sink);
  if (behind != end) {
    Keep(state, Between(behind, end), sink);
  } else if (end[-1] == '\r') {
    state.flags |= kAfterCr;
  }
}

void LineScanner::Lines(std::string_view bytes, LineSink sink) {
  LineState none;
  AddLines(none, bytes.data(), bytes.data() + bytes.size(), sink);
}

void LineScanner::Finish(LineState& state, LineSink sink) {
  if (state.unfinished != 0) AddLine(state, {}, sink);
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

void LineScanner::Flush(LineSink sink) {
  if (text_.empty()) return;
  matcher_.Match(text_, sink);
  text_.Clear();
}

ScanCounters LineScanner::counters() const {
  ScanCounters counters = counters_;
  counters.matched_lines = matcher_.matched_lines();
  counters.asked = matcher_.asked();
  counters.given_up = matcher_.given_up();
  return counters;
}

/// Returns where the line begins that follows the one at hand in [at, end); null if that one goes
/// on.
const char* LineScanner::SkipLine(LineState& state, const char* at, const char* end) {
  const char* const line_end = FindLineEnd(at, end);
  if (line_end == end) return nullptr;
  if (state.flags & kTorn) ++counters_.torn_lines;
  state.flags = 0;
  return BehindLineEnd(line_end, end);
}

/// [at, behind) is whole lines, the first of which began in `state`; the last one may have no end.
void LineScanner::AddLines(LineState& state, const char* at, const char* behind, LineSink sink) {
  while (at != behind) {
    const uint32_t length = unfinished_.Length(state.unfinished);
    const ptrdiff_t most = length < part_bytes_ ? part_bytes_ - length : 0;
    const char* end = behind;
    if (behind - at > most) {
      end = BehindLastLineEnd(at, at + most);
      if (end == at) {
        const char* const line_end = FindLineEnd(at + most, behind);
        AddLine(state, Between(at, line_end), sink);
        at = line_end == behind ? behind : BehindLineEnd(line_end, behind);
        continue;
      }
      if (end[-1] == '\r' && *end == '\n') ++end;
    }
    const bool ended = end[-1] == '\n' || end[-1] == '\r';
    char* const to = Place(state, static_cast<size_t>(end - at), sink);
    counters_.lines += CopyAndCountLineEnds(at, end, to) + (ended ? 0 : 1);
    text_.Add(to + (end - at), false, origin_);
    at = end;
  }
}

/// `bytes` belong to the line in `state`, and are all of it that is looked at.
void LineScanner::AddLine(LineState& state, std::string_view bytes, LineSink sink) {
  const size_t most = line_bytes_ - unfinished_.Length(state.unfinished);
  const bool truncated = bytes.size() > most;
  bytes = bytes.substr(0, most);
  ++counters_.lines;
  counters_.truncated_lines += truncated;
  char* const to = Place(state, bytes.size(), sink);
  text_.Add(to + bytes.copy(to, bytes.size()), truncated, origin_);
}

/// Where the next `bytes` bytes of text go, behind what there is of their line.
char* LineScanner::Place(LineState& state, size_t bytes, LineSink sink) {
  const uint32_t length = unfinished_.Length(state.unfinished);
  if (!text_.HasRoom(length + bytes)) Flush(sink);
  char* const to = text_.Place(length, static_cast<uint32_t>(bytes));
  unfinished_.Take(state.unfinished, to - length);
  return to;
}

/// `bytes` belong to the line in `state`, which does not end yet.
void LineScanner::Keep(LineState& state, std::string_view bytes, LineSink sink) {
  if (unfinished_.Length(state.unfinished) + bytes.size() > line_bytes_) {
    AddLine(state, bytes, sink);
    state.flags = kSkipping;
  } else if (!unfinished_.Append(state.unfinished, bytes)) {
    ++counters_.no_memory_lines;
    state.flags = kSkipping;
  }
}

}  // namespace sluice::engine::logmon
