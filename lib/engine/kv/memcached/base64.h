// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sluice::engine::kv::memcached {

/// Decodes RFC 4648 base64 with its padding. Returns the bytes written to `to`; nothing if it is
/// none, is empty or does not fit. Abseil's decoder allocates its result, and takes white space and
/// text without padding, which memcached refuses.
std::optional<size_t> DecodeBase64(std::string_view text, std::span<uint8_t> to);

/// Returns how many characters the base64 of `bytes`, which is written to `to`, has. There is room.
size_t EncodeBase64(std::span<const uint8_t> bytes, std::span<char> to);

}  // namespace sluice::engine::kv::memcached
