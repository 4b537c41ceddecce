// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/line_scanner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/logmon/scan/line_ends.h"
#include "packet/checksum.h"

namespace sluice::engine::logmon {
namespace {

// Bits of LineState::flags.
constexpr uint16_t kAfterCr = 1;   // An LF that follows belongs to the end of the last line.
constexpr uint16_t kSkipping = 2;  // Skips up to the next line end.
constexpr uint16_t kTorn = 4;      // The skipped bytes follow a gap.

constexpr uint32_t kMinLineBytes = 256;
constexpr uint32_t kMaxLineBytes = 262144;

bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }

/// Returns the number of bytes before the first line end in `text`.
size_t LineOf(std::string_view text) {
  const char* const begin = text.data();
  return static_cast<size_t>(FindLineEnd(begin, begin + text.size()) - begin);
}

/// Splits `bytes` into pieces of at most `most` bytes, after line ends if possible.
template <typename Visit>
void ForEachPiece(std::string_view bytes, size_t most, Visit visit) {
  while (bytes.size() > most) {
    const char* const begin = bytes.data();
    const auto lines = static_cast<size_t>(AfterLastLineEnd(begin, begin + most) - begin);
    visit(bytes.substr(0, lines == 0 ? most : lines), false);
    bytes.remove_prefix(lines == 0 ? most : lines);
  }
  if (!bytes.empty()) visit(bytes, true);
}

}  // namespace

LineScanner::LineScanner(const RuleSet& rules, const ScanLimits& limits)
    : line_bytes_(std::clamp(limits.line_bytes, kMinLineBytes, kMaxLineBytes)),
      // No line in a part of this size exceeds the limit.
      part_bytes_(std::min(line_bytes_, GatheredText::kBytes)),
      matcher_(rules),
      unfinished_(limits.unfinished_bytes),
      text_(line_bytes_ + kMaxHeaderBytes + 1) {
  static_assert(UnfinishedLines::kSpareBytes <= GatheredText::kSpareBytes);
}

uint64_t LineScanner::Sum(const LineState& state, std::string_view bytes, LineSink sink) {
  if (bytes.size() + unfinished_.Length(state.unfinished) > part_bytes_) [[unlikely]] {
    staged_.bytes = nullptr;
    return packet::SumBytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  Stage(state, bytes, sink);
  return staged_.copied.sum;
}

void LineScanner::FeedPieces(LineState& state, std::string_view bytes, LineSink sink) {
  ForEachPiece(bytes, part_bytes_, [&](std::string_view piece, bool /*last*/) {
    ScanPiece(state, piece, false, sink);
  });
}

void LineScanner::Lines(std::string_view bytes, LineSink sink) {
  LineState state;
  ForEachPiece(bytes, part_bytes_,
               [&](std::string_view piece, bool last) { ScanPiece(state, piece, last, sink); });
}

void LineScanner::Message(std::string_view header, std::string_view text, LineSink sink) {
  while (!text.empty() && IsLineEnd(text.back())) text.remove_suffix(1);
  const bool truncated = text.size() > line_bytes_;
  text = text.substr(0, line_bytes_);
  if (text.empty()) text = "\n";
  ++counters_.lines;
  counters_.truncated_lines += truncated;
  const auto ahead = static_cast<uint32_t>(header.empty() ? 0 : header.size() + 1);
  staged_.bytes = nullptr;
  if (!text_.HasRoom(ahead + text.size())) Flush(sink);
  char* const to = text_.Place(ahead, static_cast<uint32_t>(text.size()));
  char* const end = to + text.size();
  if (CopyText(text, to).line_ends != 0 && text != "\n") std::replace_if(to, end, IsLineEnd, ' ');
  header.copy(to - ahead, header.size());
  if (ahead != 0) to[-1] = '\n';
  text_.Add(end, truncated, origin_, ahead);
}

void LineScanner::KeepPart(LineState& state, std::string_view bytes) {
  if (state.flags & kSkipping) return;
  bytes = bytes.substr(0, MaxMessageBytes() - unfinished_.Length(state.unfinished));
  if (bytes.empty() || unfinished_.Append(state.unfinished, bytes)) return;
  ++counters_.no_memory_lines;
  state.flags = kSkipping;
}

size_t LineScanner::JoinParts(LineState& state, char* to) {
  const size_t size = unfinished_.Length(state.unfinished);
  if (size != 0) unfinished_.Copy(state.unfinished, to);
  unfinished_.Drop(state.unfinished);
  state = {};
  return size;
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
  staged_.bytes = nullptr;
  if (text_.empty()) return;
  matcher_.Match(text_, sink);
  text_.Clear();
}

ScanCounters LineScanner::counters() const {
  ScanCounters counters = counters_;
  counters.matched_lines = matcher_.matched_lines();
  counters.asked = matcher_.asked();
  counters.given_up = matcher_.given_up();
  counters.unread_json = matcher_.unread_json();
  return counters;
}

/// Processes a piece of 1 to part_bytes_ bytes. `whole` means that the last line ends at the end of
/// the piece, even without a line end.
void LineScanner::ScanPiece(LineState& state, std::string_view piece, bool whole, LineSink sink) {
  if (state.flags != 0 && !ApplyFlags(state, piece)) return;
  if (!IsStaged(state, piece)) {
    if (!MakeFit(state, piece, whole, sink)) return;
    Stage(state, piece, sink);
  }
  AddStaged(state, whole);
}

/// Adds the staged bytes to the text. `whole`: as for ScanPiece.
void LineScanner::AddStaged(LineState& state, bool whole) {
  staged_.bytes = nullptr;
  const char* const begin = staged_.to;
  const char* const end = begin + staged_.size;
  const char* const after = whole ? end : AfterLastLineEnd(begin, end);
  const std::string_view rest(after, static_cast<size_t>(end - after));
  if (after != begin) {
    counters_.lines += staged_.copied.line_ends;
    if (whole && !IsLineEnd(end[-1])) ++counters_.lines;
    text_.Add(after, false, origin_);
    if (after != end && unfinished_.Replace(state.unfinished, rest)) return;
    unfinished_.Drop(state.unfinished);
  }
  if (after != end) {
    Keep(state, rest);
  } else if (end[-1] == '\r') {
    state.flags |= kAfterCr;
  }
}

/// Applies the flags of `state` to `piece`. Returns false if no bytes remain.
bool LineScanner::ApplyFlags(LineState& state, std::string_view& piece) {
  if (state.flags & kAfterCr) {
    state.flags &= ~kAfterCr;
    if (piece[0] == '\n') piece.remove_prefix(1);
  }
  if (piece.empty() || !(state.flags & kSkipping)) return !piece.empty();
  const size_t line = LineOf(piece);
  if (line == piece.size()) return false;
  if (state.flags & kTorn) ++counters_.torn_lines;
  state.flags = 0;
  return RemoveLine(state, piece, line);
}

/// If the unfinished line and `piece` together exceed part_bytes_, moves the rest of that line out
/// of `piece`. Returns false if no bytes remain.
bool LineScanner::MakeFit(LineState& state, std::string_view& piece, bool whole, LineSink sink) {
  const size_t length = unfinished_.Length(state.unfinished);
  if (length + piece.size() <= part_bytes_) return true;
  const size_t line = LineOf(piece);
  if (line < piece.size() || whole) {
    AddLine(state, piece.substr(0, line), sink);
    return RemoveLine(state, piece, line);
  }
  if (length + line <= line_bytes_) {
    Keep(state, piece);
  } else {
    AddLine(state, piece, sink);
    state.flags = kSkipping;
  }
  return false;
}

/// Removes a line of `line` bytes and its line end from `piece`. Returns false if no bytes remain.
bool LineScanner::RemoveLine(LineState& state, std::string_view& piece, size_t line) {
  if (line < piece.size()) {
    const char* const end = piece.data() + piece.size();
    line = static_cast<size_t>(AfterLineEnd(piece.data() + line, end) - piece.data());
    if (line == piece.size() && end[-1] == '\r') state.flags |= kAfterCr;
  }
  piece.remove_prefix(line);
  return !piece.empty();
}

/// Adds `bytes` to the line in `state` and ends the line. Bytes beyond the maximum line length are
/// dropped.
void LineScanner::AddLine(LineState& state, std::string_view bytes, LineSink sink) {
  const size_t most = line_bytes_ - unfinished_.Length(state.unfinished);
  const bool truncated = bytes.size() > most;
  bytes = bytes.substr(0, most);
  ++counters_.lines;
  counters_.truncated_lines += truncated;
  char* const to = Place(state, bytes.size(), sink);
  unfinished_.Drop(state.unfinished);
  text_.Add(to + bytes.copy(to, bytes.size()), truncated, origin_);
}

/// Returns the address for the next `bytes` bytes of the line in `state`. Copies the earlier bytes
/// of the line to the memory before this address.
inline char* LineScanner::Place(const LineState& state, size_t bytes, LineSink sink) {
  const uint32_t length = unfinished_.Length(state.unfinished);
  staged_.bytes = nullptr;
  if (!text_.HasRoom(length + bytes)) Flush(sink);
  char* const to = text_.Place(length, static_cast<uint32_t>(bytes));
  unfinished_.Copy(state.unfinished, to - length);
  return to;
}

void LineScanner::Stage(const LineState& state, std::string_view bytes, LineSink sink) {
  char* const to = Place(state, bytes.size(), sink);
  staged_ = {
      bytes.data(), bytes.size(),       state.unfinished, unfinished_.Length(state.unfinished),
      to,           CopyText(bytes, to)};
}

/// Stores `bytes` of the line in `state`, which does not end yet. If the line has no earlier bytes,
/// `bytes` are within the gathered text, so that bytes after them may be read.
void LineScanner::Keep(LineState& state, std::string_view bytes) {
  const bool kept = state.unfinished == 0 ? unfinished_.Begin(state.unfinished, bytes)
                                          : unfinished_.Append(state.unfinished, bytes);
  if (kept) return;
  ++counters_.no_memory_lines;
  state.flags = kSkipping;
}

}  // namespace sluice::engine::logmon
