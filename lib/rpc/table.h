// SPDX-License-Identifier: BSD-3-Clause
//
// Signature tables: the compiled types and procedures of a `.x` file, for unmarshalling arguments
// and marshalling results (unmarshal.h, marshal.h). A table contains only numbers and no pointers,
// so it can be copied to another process.
//
// A type is a sequence of steps in wire order that ends with a kEnd. Adjacent words form one step:
// a structure of eight ints is a single kWords of 8. Offsets are relative to the first byte of the
// type's C structure; docs/rpc.md defines the layout.
#pragma once

#include <cstdint>
#include <vector>

#include "rpc/message.h"

namespace sluice::rpc {

/// The data that a step moves between the wire and the structure.
enum class StepKind : uint32_t {
  kEnd,
  // Straight steps, which have a fixed size:
  kWords,  ///< `count` 32-bit numbers: int, enum, float.
  kLongs,  ///< `count` 64-bit numbers: hyper, double.
  kBools,  ///< `count` bools: any nonzero word is TRUE and becomes 1.
  // `count` numbers that have 32 bits each on the wire but another size in C. Smaller C types store
  // the low bits.
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kLong,          ///< 64 bits in C, sign-extended.
  kUnsignedLong,  ///< 64 bits in C.
  kOpaque,        ///< `count` bytes, padded on the wire.
  // Other steps:
  kEach,       ///< `count` consecutive structures of type `type`, at least two.
  kString,     ///< A pointer to at most `count` characters and a 0.
  kBytes,      ///< A 32-bit count, and 8 bytes after it a pointer to at most `count` bytes.
  kArray,      ///< Like kBytes, for at most `count` structures of type `type`.
  kOptional,   ///< A pointer to a structure of type `type`, or null.
  kUnion,      ///< A discriminant and one of `count` arms, the first at index `type`.
  kBoolUnion,  ///< Like kUnion, with a bool as discriminant.
};

struct Step {
  StepKind kind = StepKind::kEnd;
  uint32_t at = 0;     ///< Offset in the structure.
  uint32_t count = 0;  ///< Number of elements, or their maximum; see StepKind.
  uint32_t type = 0;   ///< Index of a type; for a union, index of its first arm.
};

/// Type of an absent arm: the union has no body for the discriminant.
inline constexpr uint32_t kNoType = UINT32_MAX;
/// A type without values, at index 0 of every table.
inline constexpr uint32_t kVoidType = 0;

/// An arm of a union. A union's arms are followed by one more arm for all other discriminants: the
/// default, or kNoType. In the type of an arm, offsets of steps are relative to the discriminant.
struct Arm {
  uint32_t value = 0;
  uint32_t type = kNoType;
};

struct Type {
  uint32_t first_step = 0;
  uint32_t bytes = 0;       ///< sizeof in C; for an arm, sizeof of the union.
  uint32_t alignment = 1;   ///< alignof in C: 1, 2, 4 or 8.
  uint32_t wire_bytes = 0;  ///< Wire size if straight, otherwise the minimum wire size.
  /// Number of 32-bit numbers if the type consists only of these, otherwise 0.
  uint32_t words = 0;
  bool straight = true;  ///< All steps are straight.
  bool dense = true;     ///< The steps write every byte of the structure.

  friend bool operator==(const Type&, const Type&) = default;
};

struct Procedure {
  uint32_t program = 0;
  uint32_t version = 0;
  uint32_t number = 0;
  /// Index of the arguments' type. Several arguments form one structure, in order.
  uint32_t arguments = kVoidType;
  uint32_t result = kVoidType;
};

/// Limits of tables, and of values that are unmarshalled or marshalled with them.
struct Limits {
  static constexpr uint32_t kMaxTypeBytes = 1 << 20;
  /// One byte of a structure needs at most four bytes on the wire.
  static constexpr uint32_t kMaxTypeWireBytes = 4 * kMaxTypeBytes;
  static constexpr uint32_t kMaxTypes = 4096;
  static constexpr uint32_t kMaxSteps = 16384;
  static constexpr uint32_t kMaxArms = 4096;
  static constexpr uint32_t kMaxProcedures = 4096;
  /// Maximum nesting of values through pointers, arrays and unions. The last value in its structure
  /// does not count, so only the size of its message limits the length of a linked list.
  static constexpr uint32_t kMaxDepth = 64;
};

/// Result of looking up a call.
struct Lookup {
  AcceptStat stat = AcceptStat::kProgUnavail;  ///< kSuccess, or the status for the reply.
  uint32_t low = 0, high = 0;  ///< After kProgMismatch: the range of supported versions.
  uint32_t procedure = 0;      ///< After kSuccess: the index in the table.
};

/// A signature table. Tables from CompileX (x_compiler.h) satisfy all invariants of steps, types
/// and arms. Check tables from other sources with IsSound.
struct Table {
  std::vector<Step> steps;
  std::vector<Type> types;
  std::vector<Arm> arms;
  std::vector<Procedure> procedures;  ///< Sorted by program, version, number.

  /// Looks up a call in O(log procedures).
  Lookup Find(uint32_t program, uint32_t version, uint32_t procedure) const;

  /// Returns the size in bytes of the largest result in C.
  uint32_t MaxResultBytes() const;

  /// Returns true if unmarshalling and marshalling with this table stay in bounds for any input.
  /// Use it for a table that was copied from memory that other processes can write to.
  bool IsSound() const;
};

constexpr bool IsStraight(StepKind kind) {
  return kind >= StepKind::kWords && kind <= StepKind::kOpaque;
}
/// Returns the wire size of a straight step.
constexpr uint64_t StraightWireBytes(StepKind kind, uint64_t count) {
  switch (kind) {
    case StepKind::kWords:
    case StepKind::kBools:
    case StepKind::kInt8:
    case StepKind::kUint8:
    case StepKind::kInt16:
    case StepKind::kUint16:
    case StepKind::kLong:
    case StepKind::kUnsignedLong:
      return 4 * count;
    case StepKind::kLongs:
      return 8 * count;
    case StepKind::kOpaque:
      return Padded(count);
    default:
      return 0;
  }
}
/// Returns the size of a straight step in the structure.
constexpr uint64_t StraightBytes(StepKind kind, uint64_t count) {
  switch (kind) {
    case StepKind::kInt8:
    case StepKind::kUint8:
    case StepKind::kOpaque:
      return count;
    case StepKind::kInt16:
    case StepKind::kUint16:
      return 2 * count;
    case StepKind::kLong:
    case StepKind::kUnsignedLong:
      return 8 * count;
    default:
      return StraightWireBytes(kind, count);
  }
}

/// Layout of pointers in a structure. A counted pointer has kCountedBytes bytes: a count, and a
/// pointer at offset kPointerAt.
inline constexpr uint32_t kPointerBytes = 8;
inline constexpr uint32_t kPointerAt = 8;
inline constexpr uint32_t kCountedBytes = kPointerAt + kPointerBytes;

}  // namespace sluice::rpc
