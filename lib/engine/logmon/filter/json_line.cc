// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/json_line.h"

#include <algorithm>
#include <cstring>

#include "engine/logmon/filter/json_repair.h"

namespace sluice::engine::logmon {

const simdjson::dom::object* JsonLine::Parse(std::string_view line) {
  const bool same =
      has_line_ && line.size() == bytes_ && std::equal(line.begin(), line.end(), text_.begin());
  if (!same) {
    if (text_.size() < line.size() + simdjson::SIMDJSON_PADDING) {
      text_.resize(line.size() + simdjson::SIMDJSON_PADDING);
    }
    std::copy(line.begin(), line.end(), text_.begin());
    std::memset(text_.data() + line.size(), 0, simdjson::SIMDJSON_PADDING);
    bytes_ = line.size();
    has_line_ = true;
    is_object_ = ParseText();
    const size_t begin = line.find_first_not_of(" \t");
    if (!is_object_ && begin != line.npos && line[begin] == '{') ++unread_;
  }
  return is_object_ ? &object_ : nullptr;
}

bool JsonLine::ParseText() {
  simdjson::dom::element read;
  simdjson::error_code code = parser_.parse(text_.data(), bytes_, false).get(read);
  if (code == simdjson::NUMBER_ERROR || code == simdjson::STRING_ERROR) {
    RepairJson({text_.data(), bytes_}, &repaired_);
    code = parser_.parse(repaired_).get(read);
  }
  return code == simdjson::SUCCESS && read.get_object().get(object_) == simdjson::SUCCESS;
}

}  // namespace sluice::engine::logmon
