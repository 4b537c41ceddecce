// SPDX-License-Identifier: BSD-3-Clause
//
// The header and trailer of a gzip member around deflated bytes (RFC 1952, 2.3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice::chain_app {

inline constexpr size_t kGzipHeaderBytes = 10;  ///< Size of the headers written here.
inline constexpr size_t kGzipTrailerBytes = 8;

/// A header without name, time or comment, from an unknown system.
inline constexpr std::array<uint8_t, kGzipHeaderBytes> kGzipHeader = {0x1f, 0x8b, 8, 0, 0,
                                                                      0,    0,    0, 0, 255};

/// Returns the position of the deflated bytes, after the header and its optional fields. Returns
/// nullopt if the header is invalid or incomplete.
std::optional<size_t> AfterGzipHeader(std::span<const uint8_t> member);

struct GzipTrailer {
  uint32_t crc32 = 0;   ///< CRC-32 of the uncompressed bytes, as in Ethernet and zlib.
  uint32_t length = 0;  ///< Length of the uncompressed bytes modulo 2^32.
  friend bool operator==(const GzipTrailer&, const GzipTrailer&) = default;
};
GzipTrailer ReadGzipTrailer(std::span<const uint8_t, kGzipTrailerBytes> bytes);
void WriteGzipTrailer(const GzipTrailer& trailer, std::span<uint8_t, kGzipTrailerBytes> bytes);

}  // namespace sluice::chain_app
