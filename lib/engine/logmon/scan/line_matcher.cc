// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/line_matcher.h"

#include <hs/hs.h>

#include <cstddef>
#include <new>

#include "engine/logmon/scan/line_ends.h"

namespace sluice::engine::logmon {

using Role = NeedleUse::Role;

LineMatcher::LineMatcher(const RuleSet& rules) : rules_(rules) {
  if (rules.database() && hs_alloc_scratch(rules.database(), &hyperscan_) != HS_SUCCESS) {
    throw std::bad_alloc();
  }
  for (size_t i = 0; i < rules.filters().size(); ++i) {
    all_filters_.set(i);
    rules.filters()[i].Prepare(scratch_);
  }
  // Each line with a needle except the last has at least two bytes: one byte of text and the line
  // end. Any text longer than kBytes is a single line.
  hits_.reserve(GatheredText::kBytes / 2 + 1);
  is_seen_.resize(rules.expressions().size());
  seen_.reserve(is_seen_.size());
  tallies_.resize(rules.filters().size());
  touched_.reserve(tallies_.size());
}

LineMatcher::~LineMatcher() { hs_free_scratch(hyperscan_); }

void LineMatcher::Match(const GatheredText& text, LineSink sink) {
  hits_.clear();
  line_begin_ = next_line_ = 0;
  Scan(text.text());
  if (disordered_) {
    hits_.clear();
    EmitAll(text.parts(), all_filters_, sink);
  } else if (rules_.asked_always().any()) {
    EmitAll(text.parts(), rules_.asked_always(), sink);
  } else {
    EmitHits(text.parts(), sink);
  }
}

void LineMatcher::Scan(std::string_view text) {
  text_ = text;
  disordered_ = false;
  if (!rules_.database()) return;
  const hs_error_t result =
      hs_scan(rules_.database(), text.data(), static_cast<unsigned>(text.size()), 0, hyperscan_,
              OnNeedle, this);
  // Cannot fail unless the scratch memory is invalid or used by another thread.
  if (result != HS_SUCCESS) disordered_ = true;
  CloseLine();
}

int LineMatcher::OnNeedle(unsigned needle, unsigned long long, unsigned long long to, unsigned,
                          void* self) {
  LineMatcher& matcher = *static_cast<LineMatcher*>(self);
  // The last byte of a needle belongs to its line: to the text or to the line end.
  const uint32_t at = static_cast<uint32_t>(to - 1);
  if (at >= matcher.next_line_) {
    matcher.CloseLine();
    matcher.BeginLine(at);
  } else if (at < matcher.line_begin_) {
    // Hyperscan reports needles in the order of their ends; a needle that needs the following byte
    // is reported one byte late, still within its line. All results depend on this order, so it is
    // checked.
    matcher.disordered_ = true;
    return 1;
  }
  Hit& hit = matcher.hits_.back();
  for (const NeedleUse use : matcher.rules_.uses(needle)) {
    if (use.role == Role::kDecides) {
      hit.matches[use.filter] = true;
    } else if (use.role == Role::kAsks) {
      hit.to_ask[use.filter] = true;
    } else if (!matcher.is_seen_[needle]) {
      matcher.is_seen_[needle] = true;
      matcher.seen_.push_back(needle);
    }
  }
  return 0;
}

void LineMatcher::BeginLine(uint32_t at) {
  const char* const base = text_.data();
  const char* const text_end = base + text_.size();
  const char* byte = base + at;
  // A needle with "end of line" may end after CR LF.
  if (*byte == '\n' && at > next_line_ && byte[-1] == '\r') --byte;
  const char* const end = FindLineEnd(byte, text_end);
  const char* const begin = AfterLastLineEnd(base + next_line_, byte);
  line_begin_ = static_cast<uint32_t>(begin - base);
  next_line_ = static_cast<uint32_t>((end == text_end ? end : AfterLineEnd(end, text_end)) - base);
  hits_.push_back({line_begin_, static_cast<uint32_t>(end - base), {}, {}});
}

void LineMatcher::CloseLine() {
  if (seen_.empty()) return;
  for (const uint32_t needle : seen_) {
    is_seen_[needle] = false;
    for (const NeedleUse use : rules_.uses(needle)) {
      if (use.role == Role::kDecides || use.role == Role::kAsks) continue;
      Tally& tally = tallies_[use.filter];
      if (!tally.touched) touched_.push_back(use.filter);
      tally.touched = true;
      tally.all += use.role == Role::kAll;
      tally.any |= use.role == Role::kAny;
      tally.none |= use.role == Role::kNone;
    }
  }
  seen_.clear();
  Hit& hit = hits_.back();
  for (const uint16_t filter : touched_) {
    const FilterNeeds& needs = rules_.needs(filter);
    const Tally tally = tallies_[filter];
    tallies_[filter] = {};
    if (tally.all != needs.all || (needs.any && !tally.any) || tally.none) continue;
    (needs.decide ? hit.matches : hit.to_ask)[filter] = true;
  }
  touched_.clear();
}

void LineMatcher::EmitHits(std::span<const TextPart> parts, LineSink sink) {
  auto part = parts.begin();
  for (auto hit = hits_.cbegin(); hit != hits_.cend();) {
    while (part != parts.end() && part->end <= hit->begin) ++part;
    if (part == parts.end()) return;
    if (hit->begin >= part->begin && part->header != 0) {
      EmitMessage(*part, hit, {}, sink);
      continue;
    }
    const std::string_view line = text_.substr(hit->begin, hit->end - hit->begin);
    // Ignores hits in the gap between two parts.
    if (hit->begin >= part->begin) Emit(*part, line, hit->matches, hit->to_ask, sink);
    ++hit;
  }
}

void LineMatcher::EmitAll(std::span<const TextPart> parts, const FilterSet& to_ask, LineSink sink) {
  const char* const base = text_.data();
  auto hit = hits_.cbegin();
  for (const TextPart& part : parts) {
    while (hit != hits_.cend() && hit->begin < part.begin) ++hit;
    if (part.header != 0) {
      EmitMessage(part, hit, to_ask, sink);
      continue;
    }
    const char* const text_end = base + part.end;
    for (const char* begin = base + part.begin; begin != text_end;) {
      const char* const end = FindLineEnd(begin, text_end);
      const std::string_view line(begin, static_cast<size_t>(end - begin));
      if (hit != hits_.cend() && base + hit->begin == begin) {
        Emit(part, line, hit->matches, hit->to_ask | to_ask, sink);
        ++hit;
      } else {
        Emit(part, line, {}, to_ask, sink);
      }
      begin = end == text_end ? end : AfterLineEnd(end, text_end);
    }
  }
}

/// Emits a message. Its header counts only for filters that read headers. `hit` is the first hit in
/// or after the message, and is advanced to the first one after it.
void LineMatcher::EmitMessage(const TextPart& part, std::vector<Hit>::const_iterator& hit,
                              FilterSet to_ask, LineSink sink) {
  const uint32_t begin = part.begin + part.header;
  FilterSet matches;
  for (; hit != hits_.cend() && hit->begin < part.end; ++hit) {
    if (hit->begin < begin) {
      to_ask |= hit->to_ask & rules_.want_speaker();
    } else {
      matches |= hit->matches;
      to_ask |= hit->to_ask;
    }
  }
  const char* const text = text_.data() + begin;
  const char* const end = FindLineEnd(text, text_.data() + part.end);
  Emit(part, {text, static_cast<size_t>(end - text)}, matches, to_ask, sink);
}

void LineMatcher::Emit(const TextPart& part, std::string_view line, FilterSet matches,
                       const FilterSet& to_ask, LineSink sink) {
  scratch_.speaker = part.origin.speaker;
  if (part.header != 0) scratch_.speaker.header = text_.substr(part.begin, part.header - 1);
  if (to_ask.any()) {
    for (size_t i = 0; i < rules_.filters().size(); ++i) {
      if (!to_ask[i]) continue;
      ++asked_;
      matches[i] = rules_.filters()[i].Matches(line, scratch_);
    }
  }
  if (matches.none()) return;
  ++matched_lines_;
  sink({line, matches, part.truncated, part.origin.number, rules_, scratch_});
}

}  // namespace sluice::engine::logmon
