// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/marshal.h"

#include <algorithm>
#include <cstring>

#include "packet/bytes.h"
#include "rpc/walk.h"

namespace sluice::rpc {
namespace {

/// Marshals one value. Each step returns the error that ends it.
class Marshaller {
 public:
  Marshaller(const Table& table, const Source& source, uint8_t* wire, uint32_t room)
      : table_(table), source_(source), wire_(wire), end_(wire + room) {}

  MarshalError Run(uint32_t type) {
    if (source_.bytes() < table_.types[type].bytes) return MarshalError::kBadPointer;
    Walk<const uint8_t> walk(table_, type, source_.root());
    while (const Step* const step = walk.Next()) {
      const MarshalError error = Write(*step, walk.object() + step->at, walk);
      if (error != MarshalError::kNone) return error;
    }
    return MarshalError::kNone;
  }

  uint32_t Written(const uint8_t* begin) const { return static_cast<uint32_t>(wire_ - begin); }

 private:
  uint64_t Left() const { return static_cast<uint64_t>(end_ - wire_); }

  bool WriteWord(uint32_t word) {
    if (Left() < 4) return false;
    packet::StoreBe32(wire_, word);
    wire_ += 4;
    return true;
  }

  MarshalError Write(const Step& step, const uint8_t* field, Walk<const uint8_t>& walk) {
    if (IsStraight(step.kind)) {
      if (Left() < StraightWireBytes(step.kind, step.count)) return MarshalError::kNoRoom;
      wire_ += WriteStraight(step, field, wire_);
      return MarshalError::kNone;
    }
    switch (step.kind) {
      case StepKind::kEach:
        return Enter(walk, step.type, field, step.count);
      case StepKind::kString:
        return WriteString(step, field);
      case StepKind::kBytes:
        return WriteBytes(step, field);
      case StepKind::kArray:
        return WriteArray(step, field, walk);
      case StepKind::kOptional:
        return WriteOptional(step, field, walk);
      default:
        return WriteUnion(step, field, walk);
    }
  }

  static MarshalError Enter(Walk<const uint8_t>& walk, uint32_t type, const uint8_t* object,
                            uint32_t count) {
    return walk.Enter(type, object, count) ? MarshalError::kNone : MarshalError::kTooDeep;
  }

  /// Writes a count, as many bytes, and padding.
  MarshalError WriteCounted(const uint8_t* data, uint32_t bytes) {
    const uint64_t padded = Padded(bytes);
    if (Left() < 4 + padded) return MarshalError::kNoRoom;
    WriteWord(bytes);
    if (bytes != 0) std::memcpy(wire_, data, bytes);
    std::memset(wire_ + bytes, 0, padded - bytes);
    wire_ += padded;
    return MarshalError::kNone;
  }

  MarshalError WriteString(const Step& step, const uint8_t* field) {
    const auto pointer = packet::Load<uint64_t>(field);
    const uint8_t* const text = source_.At(pointer, 1);
    if (text == nullptr) return MarshalError::kBadPointer;
    // If the result equals `most`, the string is too long or not terminated.
    const uint64_t most = std::min<uint64_t>(source_.BytesFrom(pointer), uint64_t{step.count} + 1);
    const uint64_t bytes = strnlen(reinterpret_cast<const char*>(text), most);
    if (bytes == most) return MarshalError::kTooLong;
    return WriteCounted(text, static_cast<uint32_t>(bytes));
  }

  MarshalError WriteBytes(const Step& step, const uint8_t* field) {
    const auto bytes = packet::Load<uint32_t>(field);
    if (bytes > step.count) return MarshalError::kTooLong;
    const uint8_t* const data = source_.At(packet::Load<uint64_t>(field + kPointerAt), bytes);
    if (bytes != 0 && data == nullptr) return MarshalError::kBadPointer;
    return WriteCounted(data, bytes);
  }

  MarshalError WriteArray(const Step& step, const uint8_t* field, Walk<const uint8_t>& walk) {
    const Type& element = table_.types[step.type];
    const auto count = packet::Load<uint32_t>(field);
    if (count > step.count) return MarshalError::kTooLong;
    if (!WriteWord(count)) return MarshalError::kNoRoom;
    if (count == 0) return MarshalError::kNone;
    const uint8_t* const elements =
        source_.At(packet::Load<uint64_t>(field + kPointerAt), uint64_t{count} * element.bytes);
    if (elements == nullptr) return MarshalError::kBadPointer;
    if (uint64_t{count} * element.wire_bytes > Left()) return MarshalError::kNoRoom;
    if (element.words == 0) return Enter(walk, step.type, elements, count);
    SwapWords(wire_, elements, count * element.words);
    wire_ += uint64_t{count} * element.wire_bytes;
    return MarshalError::kNone;
  }

  MarshalError WriteOptional(const Step& step, const uint8_t* field, Walk<const uint8_t>& walk) {
    const auto pointer = packet::Load<uint64_t>(field);
    if (!WriteWord(pointer != 0)) return MarshalError::kNoRoom;
    if (pointer == 0) return MarshalError::kNone;
    const uint8_t* const target = source_.At(pointer, table_.types[step.type].bytes);
    return target == nullptr ? MarshalError::kBadPointer : Enter(walk, step.type, target, 1);
  }

  MarshalError WriteUnion(const Step& step, const uint8_t* field, Walk<const uint8_t>& walk) {
    auto discriminant = packet::Load<uint32_t>(field);
    if (step.kind == StepKind::kBoolUnion) discriminant = discriminant != 0;
    const uint32_t arm = ArmFor(table_, step, discriminant);
    if (arm == kNoType) return MarshalError::kNoArm;
    if (!WriteWord(discriminant)) return MarshalError::kNoRoom;
    return arm == kVoidType ? MarshalError::kNone : Enter(walk, arm, field, 1);
  }

  const Table& table_;
  const Source source_;
  uint8_t* wire_;
  uint8_t* const end_;
};

/// Marshals a type that has a fixed size on the wire.
Marshalled MarshalStraight(const Table& table, const Type& root, const Source& source,
                           uint8_t* wire, uint32_t room) {
  if (source.bytes() < root.bytes) return {.error = MarshalError::kBadPointer};
  if (room < root.wire_bytes) return {.error = MarshalError::kNoRoom};
  WriteAllStraight(&table.steps[root.first_step], source.root(), wire);
  return {.bytes = root.wire_bytes};
}

}  // namespace

Marshalled MarshalAny(const Table& table, uint32_t type, const Source& source, uint8_t* wire,
                      uint32_t room) {
  const Type& root = table.types[type];
  if (root.straight) return MarshalStraight(table, root, source, wire, room);
  Marshaller marshaller(table, source, wire, room);
  const MarshalError error = marshaller.Run(type);
  return {error, marshaller.Written(wire)};
}

}  // namespace sluice::rpc
