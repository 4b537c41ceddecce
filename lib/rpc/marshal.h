// SPDX-License-Identifier: BSD-3-Clause
//
// Structures of C, laid out as rpcgen declares them, into XDR (RFC 4506): what a function returned.
// Nothing is allocated. A structure that a service left in memory of its own may hold anything; its
// pointers are believed only as far as they lead into that memory.
#pragma once

#include <cstdint>

#include "rpc/straight.h"
#include "rpc/table.h"

namespace sluice::rpc {

/// Where a structure is.
class Source {
 public:
  /// At the beginning of the `bytes` bytes at `memory`, which is all that its pointers may lead
  /// to; they count from `base`, the address of `memory` where the structure was made. Nothing
  /// beyond is read. Nobody writes to the memory meanwhile.
  static Source Prepared(const uint8_t* memory, uint32_t bytes, uint64_t base) {
    return Source(memory, reinterpret_cast<uint64_t>(memory), bytes, base);
  }
  /// Anywhere in this process; its pointers lead where they say.
  static Source Own(const void* root) {
    return Source(static_cast<const uint8_t*>(root), 0, UINT64_MAX, 0);
  }

  const uint8_t* root() const { return root_; }
  uint64_t bytes() const { return bytes_; }
  /// What `pointer` leads to, if `bytes` bytes are there; else null.
  const uint8_t* At(uint64_t pointer, uint64_t bytes) const {
    const uint64_t offset = pointer - base_;
    if (pointer == 0 || pointer < base_ || offset > bytes_ || bytes > bytes_ - offset) {
      return nullptr;
    }
    return reinterpret_cast<const uint8_t*>(memory_ + offset);
  }
  /// How many bytes there are from what `pointer`, which leads somewhere, leads to.
  uint64_t BytesFrom(uint64_t pointer) const { return bytes_ - (pointer - base_); }

 private:
  Source(const uint8_t* root, uint64_t memory, uint64_t bytes, uint64_t base)
      : root_(root), memory_(memory), bytes_(bytes), base_(base) {}

  const uint8_t* root_;
  uint64_t memory_;  ///< Its address.
  uint64_t bytes_;
  uint64_t base_;
};

/// Why a structure cannot be sent: all but kNoRoom are its maker's fault.
enum class MarshalError : uint8_t {
  kNone,
  kNoRoom,      ///< It is longer than the room.
  kBadPointer,  ///< Null where something must be, or beyond the memory.
  kTooLong,     ///< More elements than declared, or a string without an end.
  kNoArm,       ///< A discriminant for which the union has no arm.
  kTooDeep,     ///< Beyond Limits::kMaxDepth.
};

struct Marshalled {
  MarshalError error = MarshalError::kNone;
  uint32_t bytes = 0;  ///< That were written.
};

/// Any type; Marshal is faster where a type is nothing but words.
Marshalled MarshalAny(const Table& table, uint32_t type, const Source& source, uint8_t* wire,
                      uint32_t room);

/// Writes a value of `type` to the `room` bytes at `wire`, never beyond them; after an error they
/// hold anything. Pure: tables may be used by several threads.
inline Marshalled Marshal(const Table& table, uint32_t type, const Source& source, uint8_t* wire,
                          uint32_t room) {
  const Type& root = table.types[type];
  if (root.words == 0) return MarshalAny(table, type, source, wire, room);
  if (source.bytes() < root.bytes) return {.error = MarshalError::kBadPointer};
  if (room < root.bytes) return {.error = MarshalError::kNoRoom};
  SwapWords(wire, source.root(), root.words);
  return {.bytes = root.bytes};
}

}  // namespace sluice::rpc
