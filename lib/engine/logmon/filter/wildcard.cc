// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/wildcard.h"

#include "engine/logmon/filter/search.h"

namespace sluice::engine::logmon {

Wildcard::Wildcard(std::string_view text) {
  for (size_t star = text.find('*'); star != text.npos; star = text.find('*')) {
    pieces_.emplace_back(text.substr(0, star));
    text.remove_prefix(star + 1);
  }
  pieces_.emplace_back(text);
}

bool Wildcard::Matches(std::string_view text) const {
  if (!has_star()) return text == pieces_[0];
  const std::string& first = pieces_.front();
  const std::string& last = pieces_.back();
  if (text.size() < first.size() + last.size()) return false;
  if (!text.starts_with(first) || !text.ends_with(last)) return false;
  text.remove_prefix(first.size());
  text.remove_suffix(last.size());
  // The leftmost position of each piece leaves the most text for later pieces.
  for (size_t i = 1; i + 1 < pieces_.size(); ++i) {
    const size_t at = Find(text, pieces_[i]);
    if (at == text.npos) return false;
    text.remove_prefix(at + pieces_[i].size());
  }
  return true;
}

}  // namespace sluice::engine::logmon
