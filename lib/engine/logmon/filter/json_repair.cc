// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/json_repair.h"

#include <absl/strings/ascii.h>
#include <absl/strings/charconv.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace sluice::engine::logmon {
namespace {

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

/// Skips digits from `at` on. Returns false if there are none.
bool SkipDigits(std::string_view text, size_t& at) {
  const size_t begin = at;
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at > begin;
}

/// Returns whether all of `text` is a number (RFC 8259 section 6).
bool IsNumber(std::string_view text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  const size_t begin = at;
  if (!SkipDigits(text, at) || (text[begin] == '0' && at > begin + 1)) return false;
  if (at < text.size() && text[at] == '.' && !SkipDigits(text, ++at)) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (!SkipDigits(text, at)) return false;
  }
  return at == text.size();
}

template <typename Integer>
bool Holds(std::string_view text) {
  Integer value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

void AppendNumber(std::string_view number, std::string* to) {
  const bool is_integer = number.find_first_of(".eE") == number.npos;
  double value = 0;  // The nearest double if the number is out of range.
  const auto read = absl::from_chars(number.data(), number.data() + number.size(), value);
  const bool reads = is_integer ? Holds<int64_t>(number) || Holds<uint64_t>(number)
                                : read.ec != std::errc::result_out_of_range;
  if (reads || !IsNumber(number)) {
    to->append(number);
    return;
  }
  value = std::clamp(value, -kBeyondDouble, kBeyondDouble);
  std::array<char, 32> room;
  const auto format = std::chars_format::scientific;
  const char* const end = std::to_chars(room.data(), room.data() + room.size(), value, format).ptr;
  to->append(room.data(), static_cast<size_t>(end - room.data()));
}

/// Returns XXXX of the `\uXXXX` at the start of `text`.
std::optional<uint32_t> Escaped(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  uint32_t value = 0;
  const auto [end, code] = std::from_chars(text.data() + 2, text.data() + 6, value, 16);
  if (code != std::errc() || end != text.data() + 6) return std::nullopt;
  return value;
}

/// Appends the character or escape at the start of `text`, which is within a string. Returns its
/// length in bytes.
size_t AppendCharacter(std::string_view text, std::string* to) {
  size_t bytes = text[0] == '\\' ? std::min<size_t>(2, text.size()) : 1;
  if (const auto first = Escaped(text)) {
    constexpr uint32_t kKind = 0xfc00, kHigh = 0xd800, kLow = 0xdc00;
    bytes = 6;
    if ((*first & kKind) == kHigh && (Escaped(text.substr(6)).value_or(0) & kKind) == kLow) {
      bytes = 12;
    } else if ((*first & kKind) == kHigh || (*first & kKind) == kLow) {
      to->append("\\ufffd");
      return bytes;
    }
  }
  to->append(text.substr(0, bytes));
  return bytes;
}

}  // namespace

void RepairJson(std::string_view json, std::string* readable) {
  readable->clear();
  bool in_string = false;
  while (!json.empty()) {
    size_t bytes = 1;
    if (in_string && json[0] != '"') {
      bytes = AppendCharacter(json, readable);
    } else if (!in_string && (json[0] == '-' || IsDigit(json[0]))) {
      bytes = std::min(json.find_first_not_of("0123456789+-.eE"), json.size());
      AppendNumber(json.substr(0, bytes), readable);
    } else {
      in_string ^= json[0] == '"';
      readable->push_back(json[0]);
    }
    json.remove_prefix(bytes);
  }
}

}  // namespace sluice::engine::logmon
