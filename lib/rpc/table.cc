// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/table.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace sluice::rpc {
namespace {

/// Checks the invariants of a table's steps, types and arms.
class Soundness {
 public:
  explicit Soundness(const Table& table) : table_(table) {}

  bool Holds() {
    if (table_.types.size() > Limits::kMaxTypes || table_.steps.size() > Limits::kMaxSteps ||
        table_.arms.size() > Limits::kMaxArms ||
        table_.procedures.size() > Limits::kMaxProcedures) {
      return false;
    }
    if (table_.types.empty() || table_.types[kVoidType].bytes != 0) return false;
    size_t next = 0;
    for (const Type& type : table_.types) {
      if (type.first_step != next || !TypeHolds(type, &next)) return false;
    }
    return std::all_of(table_.procedures.begin(), table_.procedures.end(),
                       [&](const Procedure& procedure) {
                         return IsType(procedure.arguments) && IsType(procedure.result);
                       });
  }

 private:
  bool IsType(uint32_t type) const { return type < table_.types.size(); }
  /// Returns whether the type can be an array element: neither its wire size nor its structure size
  /// may be 0.
  bool IsElement(uint32_t type) const {
    return IsType(type) && table_.types[type].wire_bytes >= 4 && table_.types[type].bytes != 0;
  }

  /// Checks a type. If it is valid, advances `*next` from the index of the type's first step to the
  /// index after its kEnd.
  bool TypeHolds(const Type& type, size_t* next) const {
    if (type.bytes > Limits::kMaxTypeBytes) return false;
    if (!std::has_single_bit(type.alignment) || type.alignment > 8) return false;
    Type found{.first_step = type.first_step, .bytes = type.bytes, .alignment = type.alignment};
    uint64_t end = 0;      // End in the structure of the steps so far.
    uint64_t written = 0;  // Bytes of the structure that are written.
    uint64_t wire = 0;
    for (;; ++*next) {
      if (*next == table_.steps.size()) return false;
      const Step& step = table_.steps[*next];
      if (step.kind == StepKind::kEnd) break;
      const uint64_t bytes = BytesOf(step);
      if (bytes == 0 || step.at < end) return false;
      end = step.at + bytes;
      if (end > type.bytes) return false;
      wire += WireBytesOf(step);
      found.straight &= IsStraight(step.kind);
      if (found.straight) written += bytes;
      if (step.kind == StepKind::kWords && bytes == type.bytes) found.words = step.count;
    }
    ++*next;
    if (wire > Limits::kMaxTypeWireBytes) return false;
    found.wire_bytes = static_cast<uint32_t>(wire);
    found.dense = found.straight && written == type.bytes;
    return found == type;
  }

  /// Returns how many bytes of the structure a step may access from its offset on, or 0 if the step
  /// is invalid.
  uint64_t BytesOf(const Step& step) const {
    switch (step.kind) {
      case StepKind::kWords:
      case StepKind::kLongs:
      case StepKind::kBools:
      case StepKind::kInt8:
      case StepKind::kUint8:
      case StepKind::kInt16:
      case StepKind::kUint16:
      case StepKind::kLong:
      case StepKind::kUnsignedLong:
      case StepKind::kOpaque:
        return StraightBytes(step.kind, step.count);
      case StepKind::kEach:
        // Requires at least two elements, so that the type is larger than its element and cannot
        // contain itself.
        return IsElement(step.type) && step.count >= 2
                   ? uint64_t{step.count} * table_.types[step.type].bytes
                   : 0;
      case StepKind::kString:
        return kPointerBytes;
      case StepKind::kBytes:
        return kCountedBytes;
      case StepKind::kArray:
        return IsElement(step.type) ? kCountedBytes : 0;
      case StepKind::kOptional:
        return IsElement(step.type) ? kPointerBytes : 0;
      case StepKind::kUnion:
      case StepKind::kBoolUnion:
        return UnionBytes(step);
      case StepKind::kEnd:
        break;
    }
    return 0;
  }

  uint64_t UnionBytes(const Step& step) const {
    if (uint64_t{step.type} + step.count >= table_.arms.size()) return 0;
    uint64_t bytes = 4;
    for (uint32_t i = 0; i <= step.count; ++i) {
      const uint32_t arm = table_.arms[step.type + i].type;
      if (arm == kNoType) continue;
      if (!IsType(arm)) return 0;
      bytes = std::max<uint64_t>(bytes, table_.types[arm].bytes);
    }
    return bytes;
  }

  /// Returns the wire size of a straight step, or the minimum wire size of another step.
  uint64_t WireBytesOf(const Step& step) const {
    if (IsStraight(step.kind)) return StraightWireBytes(step.kind, step.count);
    if (step.kind != StepKind::kEach) return 4;
    return uint64_t{step.count} * table_.types[step.type].wire_bytes;
  }

  const Table& table_;
};

}  // namespace

Lookup Table::Find(uint32_t program, uint32_t version, uint32_t procedure) const {
  const auto key = [](const Procedure& p) { return std::tie(p.program, p.version, p.number); };
  const auto wanted = std::tie(program, version, procedure);
  const auto found =
      std::lower_bound(procedures.begin(), procedures.end(), wanted,
                       [&](const Procedure& p, const auto& value) { return key(p) < value; });
  if (found != procedures.end() && key(*found) == wanted) {
    return {.stat = AcceptStat::kSuccess,
            .procedure = static_cast<uint32_t>(found - procedures.begin())};
  }
  const auto first = std::partition_point(procedures.begin(), procedures.end(),
                                          [&](const Procedure& p) { return p.program < program; });
  const auto end = std::partition_point(first, procedures.end(),
                                        [&](const Procedure& p) { return p.program == program; });
  if (first == end) return {.stat = AcceptStat::kProgUnavail};
  if (std::none_of(first, end, [&](const Procedure& p) { return p.version == version; })) {
    return {.stat = AcceptStat::kProgMismatch, .low = first->version, .high = end[-1].version};
  }
  return {.stat = AcceptStat::kProcUnavail};
}

uint32_t Table::MaxResultBytes() const {
  uint32_t bytes = 0;
  for (const Procedure& procedure : procedures) {
    bytes = std::max(bytes, types[procedure.result].bytes);
  }
  return bytes;
}

bool Table::IsSound() const { return Soundness(*this).Holds(); }

}  // namespace sluice::rpc
