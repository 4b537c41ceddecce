// SPDX-License-Identifier: BSD-3-Clause
//
// What stands around deflated bytes so that gzip reads them: a member's header and trailer
// (RFC 1952, 2.3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice::chain_app {

inline constexpr size_t kGzipHeaderBytes = 10;  ///< Of those that are written here.
inline constexpr size_t kGzipTrailerBytes = 8;

/// Without name, time or comment; made by an unknown system.
inline constexpr std::array<uint8_t, kGzipHeaderBytes> kGzipHeader = {0x1f, 0x8b, 8, 0, 0,
                                                                      0,    0,    0, 0, 255};

/// Where the deflated bytes begin: behind a header with any of its optional fields. Nothing: it is
/// no header, or not all of one.
std::optional<size_t> BehindGzipHeader(std::span<const uint8_t> member);

struct GzipTrailer {
  uint32_t crc32 = 0;   ///< Of what was deflated: that of Ethernet and of zlib.
  uint32_t length = 0;  ///< Of the same, modulo 2^32.
  friend bool operator==(const GzipTrailer&, const GzipTrailer&) = default;
};
GzipTrailer ReadGzipTrailer(std::span<const uint8_t, kGzipTrailerBytes> bytes);
void WriteGzipTrailer(const GzipTrailer& trailer, std::span<uint8_t, kGzipTrailerBytes> bytes);

}  // namespace sluice::chain_app
