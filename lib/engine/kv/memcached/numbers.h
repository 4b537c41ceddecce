// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers as memcached reads them, which is as C's strtol does: white space in front, a sign,
// digits, and then the end, white space or a zero byte, behind which nothing matters.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/kv/exchange.h"

namespace sluice::engine::kv::memcached {

/// 64 bits; nothing if it is none, or too large. A minus sign counts modulo 2^64, but a number
/// that would be negative as a signed one is none: so "-0" is 0, and "-1" is refused.
std::optional<uint64_t> ParseUnsigned(std::string_view text);
std::optional<int64_t> ParseSigned(std::string_view text);

/// Decimal digits of a number.
class Digits {
 public:
  explicit Digits(uint64_t number)
      : bytes_(std::to_chars(text_, text_ + sizeof text_, number).ptr - text_) {}
  std::string_view text() const { return {text_, static_cast<size_t>(bytes_)}; }

 private:
  char text_[20];
  ptrdiff_t bytes_;
};

/// When an item expires, in seconds of the exchange's clock. 0: never; negative: now; up to 30
/// days: from now; else Unix time.
uint32_t ExpiryOf(int64_t exptime, const Exchange& exchange);

/// "-1" for never, else seconds from now, as the meta commands' flag t has it.
int64_t SecondsLeft(uint32_t expires_s, const Exchange& exchange);

}  // namespace sluice::engine::kv::memcached
