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
  /// Nothing, with one line in `error` that names the fix: a key that is not in `keys`, that is
  /// there twice, or that has no value.
  static std::optional<OptionText> Read(std::string_view text,
                                        std::span<const std::string_view> keys, std::string* error);

  /// Empty: it is not there.
  std::string_view Value(std::string_view key) const;
  /// `otherwise` if it is not there. Nothing, with one line in `error`: no number of `least` to
  /// `most`.
  std::optional<uint64_t> Number(std::string_view key, uint64_t otherwise, uint64_t least,
                                 uint64_t most, std::string* error) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

/// Writes the bytes that hexadecimal digits say, two digits a byte, to `bytes`. False: there are
/// other characters among them, or not twice as many as `bytes` has room for.
bool FromHexadecimal(std::string_view digits, std::span<uint8_t> bytes);

}  // namespace sluice::chain_app
