// SPDX-License-Identifier: BSD-3-Clause
//
// Parsers for wire options, "key=value+key=value", and for their values. On error, they produce a
// one-line message with the rejected text and the fix.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace sluice::emulator {

/// Sets `error` to the text "<what>=<given>: <fix>". Returns false.
inline bool Refuse(std::string_view what, std::string_view given, std::string_view fix,
                   std::string* error) {
  *error = std::string(what).append("=").append(given).append(": ").append(fix);
  return false;
}

/// Returns the text before and after the first `separator`; the second part is empty if there is no
/// separator.
inline std::pair<std::string_view, std::string_view> Cut(std::string_view text, char separator) {
  const size_t at = std::min(text.find(separator), text.size());
  return {text.substr(0, at), text.substr(std::min(at + 1, text.size()))};
}

/// Parses all of `text` as a number from `least` to `most`. A fraction or a sign is accepted only
/// if T can represent it. Returns false on failure; `value` may have changed.
template <typename T>
bool ReadNumber(std::string_view text, std::type_identity_t<T> least, std::type_identity_t<T> most,
                T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && *value >= least &&
         *value <= most;
}
/// Parses all of `text` as any finite number of type T.
template <typename T>
bool ReadNumber(std::string_view text, T* value) {
  return ReadNumber(text, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max(), value);
}

/// Calls read(part) for each part of `text` between separators, including empty parts, until it
/// returns false. Returns whether all calls returned true.
template <typename Read>
bool ReadList(std::string_view text, char separator, Read read) {
  for (;;) {
    const size_t end = text.find(separator);
    if (!read(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

/// Calls read(key, value) for each option of "key=value+…" until it rejects one by returning false.
/// On rejection, returns false and sets `error` to a one-line message, unless read has set it.
template <typename Read>
bool ReadOptions(std::string_view text, Read read, std::string* error) {
  if (text.empty()) return true;
  error->clear();
  return ReadList(text, '+', [&](std::string_view option) {
    const auto [key, value] = Cut(option, '=');
    if (read(key, value)) return true;
    if (error->empty()) *error = std::string(option) + ": unknown option or invalid value";
    return false;
  });
}

/// Hint about the correct form, for text that packet::ReadPacketRate rejects.
inline constexpr std::string_view kRateFix = "give packets/s as 1000, 10k, 14.88M or 1G";

/// Parses a number of frames.
inline bool ReadCount(std::string_view text, uint64_t* count) {
  return ReadNumber(text, 1, ~uint64_t{0}, count);
}
inline constexpr std::string_view kCountFix = "give a number of frames, 1 or more";

/// Parses a time in ns, us, ms or s, from 1 ns to one hour.
bool ReadDuration(std::string_view text, uint64_t* ns);

inline constexpr std::string_view kSeedFix = "give a number, 0…18446744073709551615";

}  // namespace sluice::emulator
