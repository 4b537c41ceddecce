// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/field_reader.h"

#include <algorithm>

namespace sluice::engine::logmon {
namespace {

constexpr std::string_view kSpace = " \t";

}  // namespace

size_t FieldReader::FindClose(char close, size_t from) {
  bool& none = close == '"' ? no_quote_ : no_bracket_;
  if (none) return line_.npos;
  size_t at = line_.find(close, from);
  while (at != line_.npos && close == '"' && line_[at - 1] == '\\') at = line_.find(close, at + 1);
  none = at == line_.npos;
  return at;
}

std::optional<std::string_view> FieldReader::Next() {
  const size_t begin = line_.find_first_not_of(kSpace, at_);
  if (begin == line_.npos) return std::nullopt;
  size_t close = line_.npos;
  if (line_[begin] == '"') close = FindClose('"', begin + 1);
  if (line_[begin] == '[') close = FindClose(']', begin + 1);
  const size_t from = close == line_.npos ? begin : close + 1;
  at_ = std::min(line_.find_first_of(kSpace, from), line_.size());
  if (at_ == close + 1) return line_.substr(begin + 1, close - begin - 1);
  return line_.substr(begin, at_ - begin);
}

}  // namespace sluice::engine::logmon
