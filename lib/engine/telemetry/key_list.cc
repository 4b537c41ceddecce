// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/key_list.h"

#include <charconv>
#include <cstdint>

namespace sluice::engine::telemetry {

namespace {

std::optional<uint8_t> ParseBits(std::string_view text, uint8_t most) {
  uint8_t bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  if (error != std::errc() || end != text.data() + text.size() || bits > most) return std::nullopt;
  return bits;
}

std::optional<KeySpec> ParseKey(std::string_view text) {
  if (text == "5-tuple") return KeySpec{};
  const size_t slash = text.find('/');
  const std::string_view name = text.substr(0, slash);
  KeySpec spec;
  if (name == "source") {
    spec.kind = KeyKind::kSource;
  } else if (name == "destination") {
    spec.kind = KeyKind::kDestination;
  } else {
    return std::nullopt;
  }
  if (slash == std::string_view::npos) return spec;
  const auto bits = ParseBits(text.substr(slash + 1), 32);
  if (!bits) return std::nullopt;
  spec.ipv4_bits = *bits;
  return spec;
}

}  // namespace

std::optional<std::vector<KeySpec>> ParseKeys(std::string_view text) {
  std::vector<KeySpec> keys;
  bool wants_ipv6_bits = false;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
    if (const auto bits = ParseBits(word, 128); bits && wants_ipv6_bits) {
      keys.back().ipv6_bits = *bits;
      wants_ipv6_bits = false;
    } else if (const auto key = ParseKey(word)) {
      keys.push_back(*key);
      wants_ipv6_bits = word.find('/') != std::string_view::npos;
    } else {
      return std::nullopt;
    }
  }
  return keys;
}

}  // namespace sluice::engine::telemetry
