// SPDX-License-Identifier: BSD-3-Clause
//
// What can be seen of a datagram, behind its UdpFrame, without serving it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/kv/hash.h"
#include "engine/kv/memcached/binary.h"
#include "packet/bytes.h"

namespace sluice::engine::kv::memcached {

/// Answers begin with an upper-case letter, a number (incr's) or the binary magic of answers, and
/// requests with none of them (protocol.txt). An answer gets no error: otherwise two servers
/// would answer each other for ever after one forged datagram.
inline bool BeginsLikeAnAnswer(Bytes text) {
  constexpr uint8_t kAnswerMagic = 0x81;
  if (text.empty()) return false;
  const uint8_t first = text[0];
  return (first >= 'A' && first <= 'Z') || (first >= '0' && first <= '9') || first == kAnswerMagic;
}

/// The key of the first request, if it is easily found; else nothing.
inline Bytes FirstKey(Bytes text) {
  if (text.empty()) return {};
  if (text[0] == kRequestMagic) {
    if (text.size() < kHeaderBytes) return {};
    const uint32_t key = kHeaderBytes + text[4];
    const uint32_t bytes = packet::LoadBe16(&text[2]);
    return key + bytes <= text.size() ? text.subspan(key, bytes) : Bytes();
  }
  const auto is_end = [](uint8_t c) { return c <= ' '; };
  const auto command_end = std::find_if(text.begin(), text.end(), is_end);
  if (command_end == text.end()) return {};
  const auto key = command_end + 1;
  return {key, std::find_if(key, text.end(), is_end)};
}

}  // namespace sluice::engine::kv::memcached
