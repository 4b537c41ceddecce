// SPDX-License-Identifier: BSD-3-Clause
//
// Executes straight steps of a signature table (table.h), in both directions. Nothing is checked
// here, so the caller must have checked that the bytes exist.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "packet/bytes.h"
#include "rpc/table.h"

namespace sluice::rpc {

/// Copies `count` 32-bit words and swaps the bytes of each word. The operation is its own inverse,
/// so both directions use it.
inline void SwapWords(uint8_t* to, const uint8_t* from, uint32_t count) {
  using Eight = uint8_t __attribute__((vector_size(32)));
  for (; count >= 8; count -= 8, to += 32, from += 32) {
    Eight words;
    std::memcpy(&words, from, sizeof words);
    words =
        __builtin_shufflevector(words, words, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
                                19, 18, 17, 16, 23, 22, 21, 20, 27, 26, 25, 24, 31, 30, 29, 28);
    std::memcpy(to, &words, sizeof words);
  }
  for (; count != 0; --count, to += 4, from += 4) {
    packet::StoreBe32(to, packet::Load<uint32_t>(from));
  }
}

inline void SwapLongs(uint8_t* to, const uint8_t* from, uint32_t count) {
  for (; count != 0; --count, to += 8, from += 8) {
    packet::Store(to, __builtin_bswap64(packet::Load<uint64_t>(from)));
  }
}

/// Convert between 32-bit numbers on the wire and Numbers in C.
template <typename Number>
void ReadNumbers(uint8_t* field, const uint8_t* wire, uint32_t count) {
  for (; count != 0; --count, field += sizeof(Number), wire += 4) {
    // A signed Number is sign-extended from 32 bits.
    using Word = std::conditional_t<std::is_signed_v<Number>, int32_t, uint32_t>;
    packet::Store(field, static_cast<Number>(static_cast<Word>(packet::LoadBe32(wire))));
  }
}
template <typename Number>
void WriteNumbers(uint8_t* wire, const uint8_t* field, uint32_t count) {
  for (; count != 0; --count, field += sizeof(Number), wire += 4) {
    packet::StoreBe32(wire, static_cast<uint32_t>(packet::Load<Number>(field)));
  }
}

/// Converts the values of a step from `wire` to `field`. Returns the number of wire bytes.
inline uint32_t ReadStraight(const Step& step, uint8_t* field, const uint8_t* wire) {
  switch (step.kind) {
    case StepKind::kWords:
      SwapWords(field, wire, step.count);
      break;
    case StepKind::kLongs:
      SwapLongs(field, wire, step.count);
      break;
    case StepKind::kBools:
      for (uint32_t i = 0; i < step.count; ++i) {
        packet::Store(field + 4 * i, uint32_t{packet::Load<uint32_t>(wire + 4 * i) != 0});
      }
      break;
    case StepKind::kInt8:
      ReadNumbers<int8_t>(field, wire, step.count);
      break;
    case StepKind::kUint8:
      ReadNumbers<uint8_t>(field, wire, step.count);
      break;
    case StepKind::kInt16:
      ReadNumbers<int16_t>(field, wire, step.count);
      break;
    case StepKind::kUint16:
      ReadNumbers<uint16_t>(field, wire, step.count);
      break;
    case StepKind::kLong:
      ReadNumbers<int64_t>(field, wire, step.count);
      break;
    case StepKind::kUnsignedLong:
      ReadNumbers<uint64_t>(field, wire, step.count);
      break;
    default:
      std::memcpy(field, wire, step.count);
      break;
  }
  return static_cast<uint32_t>(StraightWireBytes(step.kind, step.count));
}

/// Converts the values of a step from `field` to `wire`. Returns the number of wire bytes.
inline uint32_t WriteStraight(const Step& step, const uint8_t* field, uint8_t* wire) {
  const auto bytes = static_cast<uint32_t>(StraightWireBytes(step.kind, step.count));
  switch (step.kind) {
    case StepKind::kWords:
      SwapWords(wire, field, step.count);
      break;
    case StepKind::kLongs:
      SwapLongs(wire, field, step.count);
      break;
    case StepKind::kBools:
      for (uint32_t i = 0; i < step.count; ++i) {
        packet::StoreBe32(wire + 4 * i, packet::Load<uint32_t>(field + 4 * i) != 0);
      }
      break;
    case StepKind::kInt8:
      WriteNumbers<int8_t>(wire, field, step.count);
      break;
    case StepKind::kUint8:
      WriteNumbers<uint8_t>(wire, field, step.count);
      break;
    case StepKind::kInt16:
      WriteNumbers<int16_t>(wire, field, step.count);
      break;
    case StepKind::kUint16:
      WriteNumbers<uint16_t>(wire, field, step.count);
      break;
    case StepKind::kLong:
    case StepKind::kUnsignedLong:
      WriteNumbers<uint64_t>(wire, field, step.count);
      break;
    default:
      std::memcpy(wire, field, step.count);
      std::memset(wire + step.count, 0, bytes - step.count);
      break;
  }
  return bytes;
}

/// Execute all steps of a straight type.
inline void ReadAllStraight(const Step* step, uint8_t* structure, const uint8_t* wire) {
  for (; step->kind != StepKind::kEnd; ++step) {
    wire += ReadStraight(*step, structure + step->at, wire);
  }
}
inline void WriteAllStraight(const Step* step, const uint8_t* structure, uint8_t* wire) {
  for (; step->kind != StepKind::kEnd; ++step) {
    wire += WriteStraight(*step, structure + step->at, wire);
  }
}

}  // namespace sluice::rpc
