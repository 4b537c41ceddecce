// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/numbers.h"

#include <algorithm>
#include <limits>

namespace sluice::engine::kv::memcached {
namespace {

constexpr int64_t kMaxRelative = 60 * 60 * 24 * 30;

// Returns the result of C's isspace in the "C" locale.
constexpr bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct Magnitude {
  bool negative;
  uint64_t value;
};

std::optional<Magnitude> ParseMagnitude(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && IsSpace(*at)) ++at;
  const bool negative = at != end && *at == '-';
  if (at != end && (*at == '-' || *at == '+')) ++at;
  uint64_t value = 0;
  const auto [behind, error] = std::from_chars(at, end, value);
  if (error != std::errc()) return std::nullopt;
  if (behind != end && *behind != '\0' && !IsSpace(*behind)) return std::nullopt;
  return Magnitude{negative, value};
}

}  // namespace

std::optional<uint64_t> ParseUnsigned(std::string_view text) {
  const auto magnitude = ParseMagnitude(text);
  if (!magnitude) return std::nullopt;
  if (!magnitude->negative) return magnitude->value;
  const uint64_t value = -magnitude->value;
  if (static_cast<int64_t>(value) < 0) return std::nullopt;
  return value;
}

std::optional<int64_t> ParseSigned(std::string_view text) {
  const auto magnitude = ParseMagnitude(text);
  if (!magnitude) return std::nullopt;
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  if (magnitude->value > kMax + (magnitude->negative ? 1 : 0)) return std::nullopt;
  return static_cast<int64_t>(magnitude->negative ? -magnitude->value : magnitude->value);
}

uint32_t ExpiryOf(int64_t exptime, const Exchange& exchange) {
  if (exptime == 0) return 0;
  const int64_t from_now = exptime <= kMaxRelative ? exptime : exptime - exchange.unix_s;
  if (from_now <= 0) return exchange.now_s;
  constexpr int64_t kLatest = std::numeric_limits<uint32_t>::max();
  return static_cast<uint32_t>(std::min(from_now, kLatest - exchange.now_s) + exchange.now_s);
}

int64_t SecondsLeft(uint32_t expires_s, const Exchange& exchange) {
  if (expires_s == 0) return -1;
  return expires_s > exchange.now_s ? expires_s - exchange.now_s : 0;
}

}  // namespace sluice::engine::kv::memcached
