// SPDX-License-Identifier: BSD-3-Clause
//
// Iterates over the steps of a type, including those of nested values. Shared by unmarshalling and
// marshalling.
#pragma once

#include <cstdint>

#include "rpc/table.h"

namespace sluice::rpc {

/// Iterates over one value. Its type must be in a sound table (Table::IsSound). `Byte` is uint8_t
/// or const uint8_t. The stack is bounded and is part of the object (1.5 KiB).
template <typename Byte>
class Walk {
 public:
  /// Starts with the structure at `object`. The table must outlive this object.
  Walk(const Table& table, uint32_t type, Byte* object)
      : table_(table), place_(Begin(type, object, 1)) {}

  /// Returns the next step that moves data, or null after the last one. The step belongs to the
  /// structure object().
  const Step* Next() {
    while (place_.next->kind == StepKind::kEnd) {
      if (--place_.left != 0) {
        place_ = Begin(place_.type, place_.object + table_.types[place_.type].bytes, place_.left);
      } else if (depth_ != 0) {
        place_ = stack_[--depth_];
      } else {
        return nullptr;
      }
    }
    return place_.next++;
  }
  Byte* object() const { return place_.object; }

  /// Continues with `count` structures of `type` at `object`, and then with the remaining steps of
  /// the current structure. `count` must be at least one. Returns false if the nesting is too deep.
  bool Enter(uint32_t type, Byte* object, uint32_t count) {
    const bool rest = place_.left != 1 || place_.next->kind != StepKind::kEnd;
    if (rest) {
      if (depth_ == Limits::kMaxDepth) return false;
      stack_[depth_++] = place_;
    }
    place_ = Begin(type, object, count);
    return true;
  }

 private:
  struct Place {
    const Step* next;
    Byte* object;
    uint32_t left;  ///< Remaining structures, including this one.
    uint32_t type;
  };

  Place Begin(uint32_t type, Byte* object, uint32_t count) const {
    return {&table_.steps[table_.types[type].first_step], object, count, type};
  }

  const Table& table_;
  Place place_;
  uint32_t depth_ = 0;
  Place stack_[Limits::kMaxDepth];
};

/// Returns the type of a union's arm for `discriminant`. If no arm matches, returns the type of the
/// default, or kNoType if the union has none.
inline uint32_t ArmFor(const Table& table, const Step& step, uint32_t discriminant) {
  const Arm* arm = &table.arms[step.type];
  const Arm* const other = arm + step.count;
  while (arm != other && arm->value != discriminant) ++arm;
  return arm->type;
}

}  // namespace sluice::rpc
