// SPDX-License-Identifier: BSD-3-Clause
#include "option_text.h"

#include <algorithm>
#include <charconv>

namespace sluice::chain_app {

std::optional<OptionText> OptionText::Read(std::string_view text,
                                           std::span<const std::string_view> keys,
                                           std::string* error) {
  OptionText read;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::string key(one.substr(0, one.find('=')));
    const std::string value(one.substr(std::min(one.size(), key.size() + 1)));
    if (std::ranges::find(keys, key) == keys.end()) {
      *error = "unknown option " + key + ": ";
      if (keys.empty()) *error += "omit it";
      for (const std::string_view known : keys)
        error->append(known == keys.front() ? "give " : " or ").append(known);
      return std::nullopt;
    }
    if (value.empty() || !read.Value(key).empty()) {
      *error = "give " + key + "=value, once";
      return std::nullopt;
    }
    read.values_.emplace_back(key, value);
  }
  return read;
}

std::string_view OptionText::Value(std::string_view key) const {
  for (const auto& [name, value] : values_)
    if (name == key) return value;
  return {};
}

std::optional<uint64_t> OptionText::Number(std::string_view key, uint64_t otherwise, uint64_t least,
                                           uint64_t most, std::string* error) const {
  const std::string_view value = Value(key);
  if (value.empty()) return otherwise;
  uint64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, fault] = std::from_chars(value.data(), end, number);
  if (fault == std::errc() && stop == end && number >= least && number <= most) return number;
  *error = std::string(key) + ": give " + std::to_string(least) + " to " + std::to_string(most);
  return std::nullopt;
}

bool FromHexadecimal(std::string_view digits, std::span<uint8_t> bytes) {
  if (digits.size() != 2 * bytes.size()) return false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char* const end = digits.data() + 2 * i + 2;
    const auto [stop, fault] = std::from_chars(end - 2, end, bytes[i], 16);
    if (fault != std::errc() || stop != end) return false;
  }
  return true;
}

}  // namespace sluice::chain_app
