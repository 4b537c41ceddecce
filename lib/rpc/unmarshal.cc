// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/unmarshal.h"

#include <cstring>

#include "packet/bytes.h"
#include "rpc/walk.h"

namespace sluice::rpc {
namespace {

/// Unmarshals one value. Each step returns the error that ends it.
class Unmarshaller {
 public:
  Unmarshaller(const Table& table, const uint8_t* wire, uint32_t bytes, const Room& room)
      : table_(table), wire_(wire), end_(wire + bytes), room_(room) {}

  UnmarshalError Run(uint32_t type) {
    uint8_t* const root = AllocateStructures(table_.types[type], 1);
    if (root == nullptr) return UnmarshalError::kNoRoom;
    Walk<uint8_t> walk(table_, type, root);
    while (const Step* const step = walk.Next()) {
      const UnmarshalError error = Read(*step, walk.object() + step->at, walk);
      if (error != UnmarshalError::kNone) return error;
    }
    return UnmarshalError::kNone;
  }

  uint32_t used() const { return used_; }
  uint32_t Consumed(const uint8_t* begin) const { return static_cast<uint32_t>(wire_ - begin); }

 private:
  uint64_t Left() const { return static_cast<uint64_t>(end_ - wire_); }

  /// Allocates memory from the room. The caller must write all of it. Returns null if the room is
  /// too small.
  uint8_t* Allocate(uint64_t bytes, uint32_t alignment) {
    const uint64_t at = (uint64_t{used_} + alignment - 1) & ~uint64_t{alignment - 1};
    if (at > room_.bytes || bytes > room_.bytes - at) return nullptr;
    std::memset(room_.memory + used_, 0, at - used_);
    used_ = static_cast<uint32_t>(at + bytes);
    return room_.memory + at;
  }
  /// Allocates `count` structures. Zeroes them if their steps do not write every byte.
  uint8_t* AllocateStructures(const Type& type, uint32_t count) {
    const uint64_t bytes = uint64_t{count} * type.bytes;
    uint8_t* const structures = Allocate(bytes, type.alignment);
    if (structures != nullptr && !type.dense) std::memset(structures, 0, bytes);
    return structures;
  }
  void StorePointer(uint8_t* field, const uint8_t* target) const {
    packet::Store(field, room_.base + static_cast<uint64_t>(target - room_.memory));
  }

  bool ReadWord(uint32_t* word) {
    if (Left() < 4) return false;
    *word = packet::LoadBe32(wire_);
    wire_ += 4;
    return true;
  }

  UnmarshalError Read(const Step& step, uint8_t* field, Walk<uint8_t>& walk) {
    if (IsStraight(step.kind)) {
      if (Left() < StraightWireBytes(step.kind, step.count)) return UnmarshalError::kGarbage;
      wire_ += ReadStraight(step, field, wire_);
      return UnmarshalError::kNone;
    }
    switch (step.kind) {
      case StepKind::kEach:
        return Enter(walk, step.type, field, step.count);
      case StepKind::kString:
        return ReadString(step, field);
      case StepKind::kBytes:
        return ReadBytes(step, field);
      case StepKind::kArray:
        return ReadArray(step, field, walk);
      case StepKind::kOptional:
        return ReadOptional(step, field, walk);
      default:
        return ReadUnion(step, field, walk);
    }
  }

  static UnmarshalError Enter(Walk<uint8_t>& walk, uint32_t type, uint8_t* object, uint32_t count) {
    return walk.Enter(type, object, count) ? UnmarshalError::kNone : UnmarshalError::kTooDeep;
  }

  /// Reads a byte count. Checks that it is at most `step.count` and that this many bytes, with
  /// padding, are on the wire.
  UnmarshalError ReadCounted(const Step& step, uint32_t* bytes) {
    if (!ReadWord(bytes) || *bytes > step.count || Padded(*bytes) > Left()) {
      return UnmarshalError::kGarbage;
    }
    return UnmarshalError::kNone;
  }

  UnmarshalError ReadString(const Step& step, uint8_t* field) {
    uint32_t bytes = 0;
    if (ReadCounted(step, &bytes) != UnmarshalError::kNone) return UnmarshalError::kGarbage;
    uint8_t* const text = Allocate(uint64_t{bytes} + 1, 1);
    if (text == nullptr) return UnmarshalError::kNoRoom;
    std::memcpy(text, wire_, bytes);
    text[bytes] = 0;
    wire_ += Padded(bytes);
    StorePointer(field, text);
    return UnmarshalError::kNone;
  }

  UnmarshalError ReadBytes(const Step& step, uint8_t* field) {
    uint32_t bytes = 0;
    if (ReadCounted(step, &bytes) != UnmarshalError::kNone) return UnmarshalError::kGarbage;
    if (bytes == 0) return UnmarshalError::kNone;  // The field already contains 0 and null.
    uint8_t* const data = Allocate(bytes, 1);
    if (data == nullptr) return UnmarshalError::kNoRoom;
    std::memcpy(data, wire_, bytes);
    wire_ += Padded(bytes);
    packet::Store(field, bytes);
    StorePointer(field + kPointerAt, data);
    return UnmarshalError::kNone;
  }

  UnmarshalError ReadArray(const Step& step, uint8_t* field, Walk<uint8_t>& walk) {
    const Type& element = table_.types[step.type];
    uint32_t count = 0;
    if (!ReadWord(&count) || count > step.count || uint64_t{count} * element.wire_bytes > Left()) {
      return UnmarshalError::kGarbage;
    }
    if (count == 0) return UnmarshalError::kNone;
    uint8_t* const elements = AllocateStructures(element, count);
    if (elements == nullptr) return UnmarshalError::kNoRoom;
    packet::Store(field, count);
    StorePointer(field + kPointerAt, elements);
    if (element.words == 0) return Enter(walk, step.type, elements, count);
    // The count check has verified that all elements are on the wire.
    SwapWords(elements, wire_, count * element.words);
    wire_ += uint64_t{count} * element.wire_bytes;
    return UnmarshalError::kNone;
  }

  UnmarshalError ReadOptional(const Step& step, uint8_t* field, Walk<uint8_t>& walk) {
    uint32_t there = 0;
    if (!ReadWord(&there)) return UnmarshalError::kGarbage;
    if (there == 0) return UnmarshalError::kNone;
    const Type& target = table_.types[step.type];
    if (target.wire_bytes > Left()) return UnmarshalError::kGarbage;
    uint8_t* const object = AllocateStructures(target, 1);
    if (object == nullptr) return UnmarshalError::kNoRoom;
    StorePointer(field, object);
    return Enter(walk, step.type, object, 1);
  }

  UnmarshalError ReadUnion(const Step& step, uint8_t* field, Walk<uint8_t>& walk) {
    uint32_t discriminant = 0;
    if (!ReadWord(&discriminant)) return UnmarshalError::kGarbage;
    if (step.kind == StepKind::kBoolUnion) discriminant = discriminant != 0;
    packet::Store(field, discriminant);
    const uint32_t arm = ArmFor(table_, step, discriminant);
    if (arm == kNoType) return UnmarshalError::kGarbage;
    return arm == kVoidType ? UnmarshalError::kNone : Enter(walk, arm, field, 1);
  }

  const Table& table_;
  const uint8_t* wire_;
  const uint8_t* const end_;
  const Room room_;
  uint32_t used_ = 0;
};

/// Unmarshals a type that has a fixed size on the wire.
Unmarshalled UnmarshalStraight(const Table& table, const Type& root, const uint8_t* wire,
                               uint32_t wire_bytes, const Room& room) {
  if (wire_bytes < root.wire_bytes) return {.error = UnmarshalError::kGarbage};
  if (room.bytes < root.bytes) return {.error = UnmarshalError::kNoRoom};
  if (!root.dense) std::memset(room.memory, 0, root.bytes);
  ReadAllStraight(&table.steps[root.first_step], room.memory, wire);
  return {.bytes = root.bytes, .wire_bytes = root.wire_bytes};
}

}  // namespace

Unmarshalled UnmarshalAny(const Table& table, uint32_t type, const uint8_t* wire,
                          uint32_t wire_bytes, const Room& room) {
  const Type& root = table.types[type];
  if (root.straight) return UnmarshalStraight(table, root, wire, wire_bytes, room);
  Unmarshaller unmarshaller(table, wire, wire_bytes, room);
  const UnmarshalError error = unmarshaller.Run(type);
  return {error, unmarshaller.used(), unmarshaller.Consumed(wire)};
}

}  // namespace sluice::rpc
