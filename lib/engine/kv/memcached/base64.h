// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sluice::engine::kv::memcached {

/// Decodes RFC 4648 base64 with padding. Returns the number of bytes written to `to`; nullopt if
/// the text is invalid, is empty or does not fit. Abseil's decoder allocates its result and accepts
/// white space and missing padding, both of which memcached rejects.
std::optional<size_t> DecodeBase64(std::string_view text, std::span<uint8_t> to);

/// Writes `bytes` in base64 to `to`, which must be large enough, and returns the number of
/// characters.
size_t EncodeBase64(std::span<const uint8_t> bytes, std::span<char> to);

}  // namespace sluice::engine::kv::memcached
