// SPDX-License-Identifier: BSD-3-Clause
#include "gzip_member.h"

#include <algorithm>

namespace sluice::chain_app {
namespace {

enum GzipFlag : uint8_t { kHeaderCrc = 2, kExtra = 4, kName = 8, kComment = 16, kReserved = 0xe0 };

/// Returns the position after the zero byte that ends the text at `at`, or nullopt if there is no
/// zero byte.
std::optional<size_t> AfterText(std::span<const uint8_t> bytes, size_t at) {
  const auto rest = bytes.subspan(at);
  const auto zero = std::ranges::find(rest, uint8_t{0});
  if (zero == rest.end()) return std::nullopt;
  return at + static_cast<size_t>(zero - rest.begin()) + 1;
}

uint32_t LoadNumber(const uint8_t* bytes) {
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | uint32_t{bytes[3]} << 24;
}

}  // namespace

std::optional<size_t> AfterGzipHeader(std::span<const uint8_t> member) {
  if (member.size() < kGzipHeaderBytes) return std::nullopt;
  if (!std::equal(kGzipHeader.begin(), kGzipHeader.begin() + 3, member.begin()))
    return std::nullopt;
  const uint8_t flags = member[3];
  if ((flags & kReserved) != 0) return std::nullopt;
  size_t at = kGzipHeaderBytes;
  if ((flags & kExtra) != 0) {
    if (member.size() - at < 2) return std::nullopt;
    const size_t extra = member[at] | size_t{member[at + 1]} << 8;
    at += 2;
    if (member.size() - at < extra) return std::nullopt;
    at += extra;
  }
  for (const GzipFlag text : {kName, kComment}) {
    if ((flags & text) == 0) continue;
    const auto after = AfterText(member, at);
    if (!after) return std::nullopt;
    at = *after;
  }
  if ((flags & kHeaderCrc) != 0) {
    if (member.size() - at < 2) return std::nullopt;
    at += 2;
  }
  return at;
}

GzipTrailer ReadGzipTrailer(std::span<const uint8_t, kGzipTrailerBytes> bytes) {
  return {LoadNumber(bytes.data()), LoadNumber(&bytes[4])};
}

void WriteGzipTrailer(const GzipTrailer& trailer, std::span<uint8_t, kGzipTrailerBytes> bytes) {
  for (size_t i = 0; i < 4; ++i) {
    bytes[i] = static_cast<uint8_t>(trailer.crc32 >> 8 * i);
    bytes[4 + i] = static_cast<uint8_t>(trailer.length >> 8 * i);
  }
}

}  // namespace sluice::chain_app
