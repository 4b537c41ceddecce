// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/literal.h"

#include <absl/strings/ascii.h>

#include <cstdint>

namespace sluice::engine::logmon {

void AppendExpressionOf(std::string_view bytes, std::string* expression) {
  constexpr char kHex[] = "0123456789abcdef";
  for (const char c : bytes) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      expression->push_back(c);
    } else {
      const auto byte = static_cast<uint8_t>(c);
      expression->append({'\\', 'x', kHex[byte >> 4], kHex[byte & 15]});
    }
  }
}

std::string ExpressionOf(std::string_view bytes) {
  std::string expression;
  AppendExpressionOf(bytes, &expression);
  return expression;
}

}  // namespace sluice::engine::logmon
