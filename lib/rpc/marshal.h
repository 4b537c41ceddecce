// SPDX-License-Identifier: BSD-3-Clause
//
// Marshals C structures, laid out as rpcgen declares them, to XDR (RFC 4506). Used for the results
// of functions. Nothing is allocated. A structure in a service's memory is not trusted: its
// pointers are followed only if they point into that memory.
#pragma once

#include <cstdint>

#include "rpc/straight.h"
#include "rpc/table.h"

namespace sluice::rpc {

/// The location of a structure in memory.
class Source {
 public:
  /// Returns the location of a structure at the start of the `bytes` bytes at `memory`. Its
  /// pointers may point only into this memory, and are based on `base`, the address of `memory` in
  /// the process that made the structure. No other memory is read. The memory must not change
  /// during the call.
  static Source Prepared(const uint8_t* memory, uint32_t bytes, uint64_t base) {
    return Source(memory, reinterpret_cast<uint64_t>(memory), bytes, base);
  }
  /// Returns the location of a structure in this process, whose pointers are used unchanged.
  static Source Own(const void* root) {
    return Source(static_cast<const uint8_t*>(root), 0, UINT64_MAX, 0);
  }

  const uint8_t* root() const { return root_; }
  uint64_t bytes() const { return bytes_; }
  /// Returns the target of `pointer` if its `bytes` bytes are in the memory, otherwise null.
  const uint8_t* At(uint64_t pointer, uint64_t bytes) const {
    const uint64_t offset = pointer - base_;
    if (pointer == 0 || pointer < base_ || offset > bytes_ || bytes > bytes_ - offset) {
      return nullptr;
    }
    return reinterpret_cast<const uint8_t*>(memory_ + offset);
  }
  /// Returns the number of bytes from the target of `pointer`, which must be valid, to the end of
  /// the memory.
  uint64_t BytesFrom(uint64_t pointer) const { return bytes_ - (pointer - base_); }

 private:
  Source(const uint8_t* root, uint64_t memory, uint64_t bytes, uint64_t base)
      : root_(root), memory_(memory), bytes_(bytes), base_(base) {}

  const uint8_t* root_;
  uint64_t memory_;  ///< Address of the memory.
  uint64_t bytes_;
  uint64_t base_;
};

/// Why a structure cannot be marshalled. All errors except kNoRoom are faults in the structure.
enum class MarshalError : uint8_t {
  kNone,
  kNoRoom,      ///< The value exceeds the buffer.
  kBadPointer,  ///< A pointer is out of bounds, or null where a target is required.
  kTooLong,     ///< An array has more elements than declared, or a string is unterminated.
  kNoArm,       ///< The union has no arm for the discriminant.
  kTooDeep,     ///< The nesting exceeds Limits::kMaxDepth.
};

struct Marshalled {
  MarshalError error = MarshalError::kNone;
  uint32_t bytes = 0;  ///< Number of bytes written.
};

/// Marshals any type; Marshal is faster for types that consist only of words.
Marshalled MarshalAny(const Table& table, uint32_t type, const Source& source, uint8_t* wire,
                      uint32_t room);

/// Writes a value of `type` to the `room` bytes at `wire`, and to no other memory. After an error,
/// the contents of these bytes are undefined. The function is pure, so several threads may use one
/// table.
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
