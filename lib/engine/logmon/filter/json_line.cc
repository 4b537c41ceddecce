// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/json_line.h"

#include <algorithm>
#include <cstring>

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
    is_object_ =
        parser_.parse(text_.data(), bytes_, false).get_object().get(object_) == simdjson::SUCCESS;
  }
  return is_object_ ? &object_ : nullptr;
}

}  // namespace sluice::engine::logmon
