// SPDX-License-Identifier: BSD-3-Clause
//
// What wires read of their options: "key=value+key=value", and the values. Whoever refuses says so
// in one line: what was given, and what to write instead.
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

/// Sets `error` to "what=given: fix". Returns false.
inline bool Refuse(std::string_view what, std::string_view given, std::string_view fix,
                   std::string* error) {
  *error = std::string(what).append("=").append(given).append(": ").append(fix);
  return false;
}

/// What stands before and behind the first `separator`; the second is empty if there is none.
inline std::pair<std::string_view, std::string_view> Cut(std::string_view text, char separator) {
  const size_t at = std::min(text.find(separator), text.size());
  return {text.substr(0, at), text.substr(std::min(at + 1, text.size()))};
}

/// Reads all of `text` as a number from `least` to `most`; no fraction and no sign where T has
/// none. False: it is none; `value` may have changed.
template <typename T>
bool ReadNumber(std::string_view text, std::type_identity_t<T> least, std::type_identity_t<T> most,
                T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && *value >= least &&
         *value <= most;
}
/// Any finite number of the type.
template <typename T>
bool ReadNumber(std::string_view text, T* value) {
  return ReadNumber(text, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max(), value);
}

/// Calls read(part) for each part of `text` between separators, empty ones too, until it returns
/// false. Returns whether it never did.
template <typename Read>
bool ReadList(std::string_view text, char separator, Read read) {
  for (;;) {
    const size_t end = text.find(separator);
    if (!read(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

/// Calls read(key, value), which says whether it likes them, for each option of "key=value+…".
/// False, with one line in `error`, at the first that it does not like; the line is read's own if
/// it sets one.
template <typename Read>
bool ReadOptions(std::string_view text, Read read, std::string* error) {
  if (text.empty()) return true;
  error->clear();
  return ReadList(text, '+', [&](std::string_view option) {
    const auto [key, value] = Cut(option, '=');
    if (read(key, value)) return true;
    if (error->empty()) *error = std::string(option) + ": no such option, or not such a value";
    return false;
  });
}

/// What to write instead of what packet::ReadPacketRate refuses.
inline constexpr std::string_view kRateFix = "give packets/s as 1000, 10k, 14.88M or 1G";

/// Frames to send.
inline bool ReadCount(std::string_view text, uint64_t* count) {
  return ReadNumber(text, 1, ~uint64_t{0}, count);
}
inline constexpr std::string_view kCountFix = "give a number of frames, 1 or more";

/// A time in ns, us, ms or s: 1 ns to an hour.
bool ReadDuration(std::string_view text, uint64_t* ns);

inline constexpr std::string_view kSeedFix = "give a number, 0…18446744073709551615";

}  // namespace sluice::emulator
