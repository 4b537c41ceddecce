// SPDX-License-Identifier: BSD-3-Clause
//
// XDR (RFC 4506) into prepared structures: what a C function gets, laid out as rpcgen declares it,
// with all that its pointers lead to behind it in the same memory. docs/rpc.md has the layout.
// Nothing is allocated, and every length is checked before it is used.
#pragma once

#include <cstdint>

#include "rpc/message.h"
#include "rpc/straight.h"
#include "rpc/table.h"

namespace sluice::rpc {

/// Where a prepared structure goes. Its first byte is the root structure's.
struct Room {
  uint8_t* memory = nullptr;  ///< Borrowed.
  uint32_t bytes = 0;
  /// The address of `memory` where the structure will be used: what its pointers count from.
  /// Divisible by 8. 0 makes them offsets, none of which is 0 but that of a null pointer.
  uint64_t base = 0;

  /// Memory that is used where it is: aligned to 8 bytes.
  static Room Here(void* memory, uint32_t bytes) {
    return {static_cast<uint8_t*>(memory), bytes, reinterpret_cast<uint64_t>(memory)};
  }
};

enum class UnmarshalError : uint8_t {
  kNone,
  kGarbage,  ///< Answer GARBAGE_ARGS: it ends too early, or breaks a limit of the declaration.
  kNoRoom,   ///< Well-formed so far, but larger than the room.
  kTooDeep,  ///< Beyond Limits::kMaxDepth.
};

/// What a call is answered whose arguments were read with `error`; kSuccess: that of its execution.
constexpr AcceptStat StatOf(UnmarshalError error) {
  switch (error) {
    case UnmarshalError::kNone:
      return AcceptStat::kSuccess;
    case UnmarshalError::kGarbage:
      return AcceptStat::kGarbageArgs;
    default:
      return AcceptStat::kSystemErr;
  }
}

struct Unmarshalled {
  UnmarshalError error = UnmarshalError::kNone;
  uint32_t bytes = 0;       ///< Of the room that the structure takes.
  uint32_t wire_bytes = 0;  ///< That were read.
};

/// Any type; Unmarshal is faster where a type is nothing but words.
Unmarshalled UnmarshalAny(const Table& table, uint32_t type, const uint8_t* wire,
                          uint32_t wire_bytes, const Room& room);

/// Reads a value of `type` from the `wire_bytes` bytes at `wire` into `room`; never beyond either.
/// Bytes that it does not need are left, as libtirpc leaves them. After an error the room holds
/// anything. What the structure takes holds no byte that was there before, padding included; what
/// follows it is not written. Pure: tables may be used by several threads.
inline Unmarshalled Unmarshal(const Table& table, uint32_t type, const uint8_t* wire,
                              uint32_t wire_bytes, const Room& room) {
  const Type& root = table.types[type];
  if (root.words == 0) return UnmarshalAny(table, type, wire, wire_bytes, room);
  if (wire_bytes < root.bytes) return {.error = UnmarshalError::kGarbage};
  if (room.bytes < root.bytes) return {.error = UnmarshalError::kNoRoom};
  SwapWords(room.memory, wire, root.words);
  return {.bytes = root.bytes, .wire_bytes = root.bytes};
}

}  // namespace sluice::rpc
