// SPDX-License-Identifier: BSD-3-Clause
//
// Inspects the contents of a datagram after its UdpFrame without serving it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/kv/hash.h"
#include "engine/kv/memcached/binary.h"
#include "packet/bytes.h"

namespace sluice::engine::kv::memcached {

/// Returns whether a datagram looks like an answer. Answers start with an upper-case letter, a
/// digit (the answer to incr) or the binary magic of answers; requests start with none of these
/// (protocol.txt). Answers must not be answered with an error, otherwise one forged datagram could
/// make two servers exchange answers endlessly.
inline bool BeginsLikeAnAnswer(Bytes text) {
  constexpr uint8_t kAnswerMagic = 0x81;
  if (text.empty()) return false;
  const uint8_t first = text[0];
  return (first >= 'A' && first <= 'Z') || (first >= '0' && first <= '9') || first == kAnswerMagic;
}

/// Returns the second word of a text request or the key of a binary request, unchecked. Returns an
/// empty span if there is none.
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
