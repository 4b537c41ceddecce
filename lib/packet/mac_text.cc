// SPDX-License-Identifier: BSD-3-Clause
#include "packet/mac_text.h"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace sluice::packet {

std::optional<MacAddress> ParseMac(std::string_view text) {
  constexpr std::ptrdiff_t kMostDigits = 2;
  MacAddress mac{};
  for (size_t i = 0; i < mac.size(); ++i) {
    if (i != 0) {
      if (text.empty() || (text.front() != ':' && text.front() != '-')) return std::nullopt;
      text.remove_prefix(1);
    }
    const char* const begin = text.data();
    const auto [end, error] = std::from_chars(begin, begin + text.size(), mac[i], 16);
    if (error != std::errc() || end - begin > kMostDigits) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - begin));
  }
  return text.empty() ? std::optional(mac) : std::nullopt;
}

}  // namespace sluice::packet
