// SPDX-License-Identifier: BSD-3-Clause
//
// Unmarshals XDR (RFC 4506) to prepared structures. A prepared structure contains the arguments of
// a C function, laid out as rpcgen declares them, followed by the targets of their pointers.
// docs/rpc.md defines the layout. Nothing is allocated, and every length is checked before use.
#pragma once

#include <cstdint>

#include "rpc/message.h"
#include "rpc/straight.h"
#include "rpc/table.h"

namespace sluice::rpc {

/// Memory for a prepared structure. The root structure starts at the first byte.
struct Room {
  uint8_t* memory = nullptr;  ///< The caller owns the memory.
  uint32_t bytes = 0;
  /// Address of `memory` in the process that uses the structure; must be a multiple of 8. A pointer
  /// contains this address plus an offset. If the address is 0, pointers are plain offsets, and
  /// only null pointers are 0.
  uint64_t base = 0;

  /// Returns a room for use in this process. `memory` must be aligned to 8 bytes.
  static Room Here(void* memory, uint32_t bytes) {
    return {static_cast<uint8_t*>(memory), bytes, reinterpret_cast<uint64_t>(memory)};
  }
};

enum class UnmarshalError : uint8_t {
  kNone,
  kGarbage,  ///< Reply GARBAGE_ARGS: the data is truncated or exceeds a declared limit.
  kNoRoom,   ///< The data is well-formed so far but exceeds the room.
  kTooDeep,  ///< The nesting exceeds Limits::kMaxDepth.
};

/// Converts the result of unmarshalling a call's arguments to the status for its reply. After
/// kSuccess, the status depends on the execution of the call.
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
  uint32_t bytes = 0;       ///< Bytes of the room that the structure occupies.
  uint32_t wire_bytes = 0;  ///< Number of wire bytes consumed.
};

/// Unmarshals any type; Unmarshal is faster for types that consist only of words.
Unmarshalled UnmarshalAny(const Table& table, uint32_t type, const uint8_t* wire,
                          uint32_t wire_bytes, const Room& room);

/// Reads a value of `type` from the `wire_bytes` bytes at `wire` into `room`, and accesses no other
/// memory. Trailing bytes are ignored, as in libtirpc. After an error, the contents of the room are
/// undefined. All bytes of the structure are overwritten, including padding; bytes after it are not
/// written. The function is pure, so several threads may use one table.
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
