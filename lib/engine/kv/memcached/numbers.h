// SPDX-License-Identifier: BSD-3-Clause
//
// Parses numbers as memcached does with C's strtol: leading white space, a sign, digits, and then
// the end of the text, white space or a NUL; the rest is ignored.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/kv/exchange.h"

namespace sluice::engine::kv::memcached {

/// Parse 64-bit numbers; return nullopt if the text is not a number or is out of range. As in
/// strtoull, ParseUnsigned accepts a minus sign, but it rejects results that are negative as a
/// signed number: "-0" is 0, and "-1" is rejected.
std::optional<uint64_t> ParseUnsigned(std::string_view text);
std::optional<int64_t> ParseSigned(std::string_view text);

/// Formats a number in decimal.
class Digits {
 public:
  explicit Digits(uint64_t number)
      : bytes_(std::to_chars(text_, text_ + sizeof text_, number).ptr - text_) {}
  std::string_view text() const { return {text_, static_cast<size_t>(bytes_)}; }

 private:
  char text_[20];
  ptrdiff_t bytes_;
};

/// Returns when an item expires, in seconds of the exchange's clock, or 0 for never. `exptime` 0:
/// never; negative: now; up to 30 days: relative; larger: Unix time.
uint32_t ExpiryOf(int64_t exptime, const Exchange& exchange);

/// Returns the seconds until the expiry, or -1 for never, as for the meta commands' flag t.
int64_t SecondsLeft(uint32_t expires_s, const Exchange& exchange);

}  // namespace sluice::engine::kv::memcached
