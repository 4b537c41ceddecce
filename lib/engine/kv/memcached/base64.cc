// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/base64.h"

#include <algorithm>

namespace sluice::engine::kv::memcached {
namespace {

constexpr uint32_t kNone = 64;

constexpr uint32_t ValueOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return kNone;
}

}  // namespace

std::optional<size_t> DecodeBase64(std::string_view text, std::span<uint8_t> to) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  const size_t bytes = text.size() / 4 * 3 - padding;
  if (bytes > to.size()) return std::nullopt;
  uint32_t bits = 0;
  for (size_t i = 0, written = 0; i < text.size(); ++i) {
    uint32_t value = 0;
    if (i < text.size() - padding) {
      value = ValueOf(text[i]);
      if (value == kNone) return std::nullopt;
    }
    bits = bits << 6 | value;
    if (i % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) {
      if (written < bytes) to[written++] = static_cast<uint8_t>(bits >> shift);
    }
  }
  return bytes;
}

size_t EncodeBase64(std::span<const uint8_t> bytes, std::span<char> to) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t written = 0;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = uint32_t{bytes[i]} << 16;
    if (left > 1) bits |= uint32_t{bytes[i + 1]} << 8;
    if (left > 2) bits |= bytes[i + 2];
    for (size_t letter = 0; letter < 4; ++letter) {
      to[written++] = letter <= left ? kLetters[bits >> (18 - 6 * letter) & 63] : '=';
    }
  }
  return written;
}

}  // namespace sluice::engine::kv::memcached
