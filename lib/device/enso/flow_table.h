// SPDX-License-Identifier: BSD-3-Clause
//
// The flow table (docs/enso-hardware.md, "Steering"): four sub-tables of 2048 rows, a key
// may stand in one row of each. There is no delete and no eviction.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "regs/enso.h"
#include "regs/enso_flow.h"

namespace sluice::device::enso {

using regs::enso::FlowKey;

class FlowTable {
 public:
  /// No entry, or one that holds kUnbind.
  static constexpr uint32_t kMiss = regs::enso::kUnbind;

  /// Overwrites the entry of the same key, else takes the first free row. False if
  /// all four are taken: the hardware says nothing.
  bool Insert(const FlowKey& key, uint32_t pipe);
  uint32_t Find(const FlowKey& key) const;

 private:
  struct Entry {
    FlowKey key;
    uint32_t pipe = 0;
    bool valid = false;
  };
  using Rows = std::array<std::array<Entry, regs::enso::kSubTableRows>, regs::enso::kSubTables>;

  Entry& Row(const FlowKey& key, uint32_t index) const {
    return (*rows_)[index][regs::enso::FlowRow(key, index)];
  }

  std::unique_ptr<Rows> rows_ = std::make_unique<Rows>();
};

}  // namespace sluice::device::enso
