// SPDX-License-Identifier: BSD-3-Clause
//
// Options of a stage or of traffic: "key=value,key=value".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::chain_app {

class OptionText {
 public:
  /// Returns nullopt and sets `error` to one line that names the fix if a key is not in `keys`,
  /// occurs twice, or has no value.
  static std::optional<OptionText> Read(std::string_view text,
                                        std::span<const std::string_view> keys, std::string* error);

  /// Returns the value of `key`, or an empty string if it is absent.
  std::string_view Value(std::string_view key) const;
  /// Returns the numeric value of `key`, or `otherwise` if it is absent. Returns nullopt and sets
  /// `error` if the value is not a number from `least` to `most`.
  std::optional<uint64_t> Number(std::string_view key, uint64_t otherwise, uint64_t least,
                                 uint64_t most, std::string* error) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

/// Decodes hexadecimal digits, two per byte, into `bytes`. Returns false if the text contains other
/// characters or does not have exactly two digits per byte of `bytes`.
bool FromHexadecimal(std::string_view digits, std::span<uint8_t> bytes);

}  // namespace sluice::chain_app
