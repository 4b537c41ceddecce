// SPDX-License-Identifier: BSD-3-Clause
//
// wire=library:FILE.so+OPTIONS: a wire that a shared library brings, so that an application's own
// peer (a client, another protocol's generator) can stand behind a model NIC. The library is
// code: it runs in the model's process, with its rights, and is built with this project's headers.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "emulator/wire.h"

namespace sluice::emulator {

/// What such a library exports under kWireFactoryName. `options` is what follows the file's name
/// on the command line, without the '+' in front; `nic` is the MAC address of the model NIC, six
/// bytes. Returns a wire that the caller deletes, or null with one line in `error`. Called once per
/// NIC, before it runs.
using WireFactory = Wire*(const char* options, uint64_t seed, const uint8_t* nic,
                          std::string* error);
inline constexpr char kWireFactoryName[] = "sluice_create_wire";

struct LibraryOptions {
  std::string file{};
  std::string options{};
  uint64_t seed = 0;
  std::array<uint8_t, 6> nic{};  ///< Its MAC address.
};

/// Reads all of `text` as a number from `least` to `most`; no fraction and no sign where T has none.
/// False: it is none; `value` may have changed.
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

/// Calls read(key, value), which says whether it likes them, for each option of "key=value+…".
/// False, with one line in `error`, at the first that it does not like.
template <typename Read>
bool ReadOptions(std::string_view text, Read read, std::string* error) {
  while (!text.empty()) {
    const std::string_view option = text.substr(0, text.find('+'));
    text.remove_prefix(std::min(option.size() + 1, text.size()));
    const size_t equals = std::min(option.find('='), option.size());
    const std::string_view value = option.substr(std::min(equals + 1, option.size()));
    if (option.empty() || read(option.substr(0, equals), value)) continue;
    *error = std::string(option) + ": no such option, or not such a value";
    return false;
  }
  return true;
}

/// Loads the library, which stays loaded. Null, with one line in `error`, if there is no such
/// file, it is no such library, or it does not like its options.
std::unique_ptr<Wire> LoadWire(const LibraryOptions& options, std::string* error);

}  // namespace sluice::emulator
