// SPDX-License-Identifier: BSD-3-Clause
//
// Signature tables: what the types and procedures of a `.x` file become, for whoever unmarshals
// arguments and marshals results (unmarshal.h, marshal.h). Plain numbers without pointers, so that
// a table can be copied to where it is used.
//
// A type is a run of steps, in the order of the wire, up to a kEnd. Neighbouring words are one
// step: a structure of eight ints is a single kWords of 8. Offsets count from the first byte of the
// type's C structure; docs/rpc.md has the layout.
#pragma once

#include <cstdint>
#include <vector>

#include "rpc/message.h"

namespace sluice::rpc {

/// What a step moves between the wire and the structure.
enum class StepKind : uint32_t {
  kEnd,
  // Straight: of a size that is known.
  kWords,  ///< `count` 32-bit numbers: int, enum, float.
  kLongs,  ///< `count` 64-bit numbers: hyper, double.
  kBools,  ///< `count` bools: any word but 0 is TRUE, and becomes 1.
  // `count` numbers of 32 bits on the wire and of another size in C, where each has their low bits.
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kLong,          ///< Of 64 bits in C.
  kUnsignedLong,  ///< The same.
  kOpaque,        ///< `count` bytes, and their padding on the wire.
  // Others.
  kEach,       ///< `count` structures of type `type`, at least two, one behind the other.
  kString,     ///< A pointer to at most `count` characters and a 0.
  kBytes,      ///< Their number, 32 bits, and 8 bytes further a pointer to at most `count` bytes.
  kArray,      ///< The same for `count` structures of type `type`.
  kOptional,   ///< A pointer to a structure of type `type`, or null.
  kUnion,      ///< A discriminant, and the arm that it chooses among `count` from `type` on.
  kBoolUnion,  ///< The same with a bool.
};

struct Step {
  StepKind kind = StepKind::kEnd;
  uint32_t at = 0;     ///< Offset in the structure.
  uint32_t count = 0;  ///< At most Limits::kMaxTypeBytes if what is counted lies in the structure.
  uint32_t type = 0;   ///< Index of a type; of a union, of its first arm.
};

/// No arm: a discriminant for which a union has no body.
inline constexpr uint32_t kNoType = UINT32_MAX;
/// The type without values: index 0 of every table.
inline constexpr uint32_t kVoidType = 0;

/// An arm of a union. The one behind the last is what other discriminants choose: the default, or
/// kNoType. The offsets of its type's steps count from the discriminant.
struct Arm {
  uint32_t value = 0;
  uint32_t type = kNoType;
};

struct Type {
  uint32_t first_step = 0;
  uint32_t bytes = 0;       ///< sizeof in C. Of an arm: the union's.
  uint32_t alignment = 1;   ///< In C: 1, 2, 4 or 8.
  uint32_t wire_bytes = 0;  ///< On the wire, if it is straight; else as many at least.
  /// How many 32-bit numbers it is, if it is nothing else; else 0.
  uint32_t words = 0;
  bool straight = true;  ///< All its steps are.
  bool dense = true;     ///< And they write every byte of the structure.

  friend bool operator==(const Type&, const Type&) = default;
};

struct Procedure {
  uint32_t program = 0;
  uint32_t version = 0;
  uint32_t number = 0;
  /// Types. Several arguments are one structure that has them in order.
  uint32_t arguments = kVoidType;
  uint32_t result = kVoidType;
};

/// Bounds of tables and of what is unmarshalled and marshalled by them.
struct Limits {
  static constexpr uint32_t kMaxTypeBytes = 1 << 20;
  /// A byte of the structure is four on the wire at most.
  static constexpr uint32_t kMaxTypeWireBytes = 4 * kMaxTypeBytes;
  static constexpr uint32_t kMaxTypes = 4096;
  static constexpr uint32_t kMaxSteps = 16384;
  static constexpr uint32_t kMaxArms = 4096;
  static constexpr uint32_t kMaxProcedures = 4096;
  /// How deep values may lie in one another, by pointers, arrays, unions. What is last in its
  /// structure does not count: a list is as long as its message allows.
  static constexpr uint32_t kMaxDepth = 64;
};

/// What a caller asks for, looked up.
struct Lookup {
  AcceptStat stat = AcceptStat::kProgUnavail;  ///< kSuccess, or what to answer.
  uint32_t low = 0, high = 0;                  ///< After kProgMismatch: versions that there are.
  uint32_t procedure = 0;                      ///< After kSuccess: its index in the table.
};

/// Made by CompileX (x_compiler.h). Steps, types and arms keep each other's promises; of a table
/// from elsewhere, IsSound says whether it does.
struct Table {
  std::vector<Step> steps;
  std::vector<Type> types;
  std::vector<Arm> arms;
  std::vector<Procedure> procedures;  ///< By program, version, number.

  /// Looks up what a call asks for. O(log procedures).
  Lookup Find(uint32_t program, uint32_t version, uint32_t procedure) const;

  /// Of the structure of the largest result.
  uint32_t MaxResultBytes() const;

  /// True if unmarshalling and marshalling by this table, of whatever bytes, keep to their bounds:
  /// for a table that was copied from memory which others write to.
  bool IsSound() const;
};

constexpr bool IsStraight(StepKind kind) {
  return kind >= StepKind::kWords && kind <= StepKind::kOpaque;
}
/// Bytes on the wire of a straight step.
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
/// And in the structure.
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

/// Bytes in the structure: of a pointer, and of a count with the pointer that follows it.
inline constexpr uint32_t kPointerBytes = 8;
inline constexpr uint32_t kPointerAt = 8;
inline constexpr uint32_t kCountedBytes = kPointerAt + kPointerBytes;

}  // namespace sluice::rpc
