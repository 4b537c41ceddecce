// SPDX-License-Identifier: BSD-3-Clause
//
// Messages in UDP datagrams: one or more parts each, in order. Each part has a header of 24 bytes.
// All numbers are big-endian.
//
//   0  "SLCM"
//   4  number: chosen by the sender of a request; its answer has the same number
//   8  length: bytes of the whole message
//  12  offset: position of this part's bytes in the message
//  16  two key words: 0; in an answer, the keys that the last stage set for policies
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "packet/bytes.h"

namespace sluice::engine::messages {

inline constexpr uint32_t kPartHeaderBytes = 24;
inline constexpr uint32_t kPartMagic = 0x534c434d;
/// Number of message bytes per sent part; the last part may be shorter. The frame has fewer than
/// 1500 bytes over IPv4 and IPv6, even with two VLAN tags.
inline constexpr uint32_t kPartBytes = 1400;

struct Part {
  uint32_t number = 0;
  uint32_t length = 0;
  uint32_t offset = 0;
  std::array<uint32_t, 2> key{};
  std::span<const uint8_t> bytes;

  bool whole() const { return bytes.size() == length; }
};

/// Returns whether a datagram's payload has a part header.
inline bool IsPart(std::span<const uint8_t> payload) {
  return payload.size() >= kPartHeaderBytes && packet::LoadBe32(payload.data()) == kPartMagic;
}

/// Reads a part. Returns nullopt if the payload is not a part, its bytes exceed the message, or it
/// is empty although the message is not.
inline std::optional<Part> ReadPart(std::span<const uint8_t> payload) {
  if (!IsPart(payload)) return std::nullopt;
  const uint8_t* const at = payload.data();
  const Part part{.number = packet::LoadBe32(at + 4),
                  .length = packet::LoadBe32(at + 8),
                  .offset = packet::LoadBe32(at + 12),
                  .key = {packet::LoadBe32(at + 16), packet::LoadBe32(at + 20)},
                  .bytes = payload.subspan(kPartHeaderBytes)};
  const bool inside = part.offset <= part.length && part.bytes.size() <= part.length - part.offset;
  if (!inside || (part.bytes.empty() && part.length != 0)) return std::nullopt;
  return part;
}

/// Writes the header of `part`, kPartHeaderBytes long. The caller writes the part's bytes after it.
inline void WritePartHeader(uint8_t* to, const Part& part) {
  packet::StoreBe32(to, kPartMagic);
  packet::StoreBe32(to + 4, part.number);
  packet::StoreBe32(to + 8, part.length);
  packet::StoreBe32(to + 12, part.offset);
  packet::StoreBe32(to + 16, part.key[0]);
  packet::StoreBe32(to + 20, part.key[1]);
}

}  // namespace sluice::engine::messages
