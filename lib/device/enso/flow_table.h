// SPDX-License-Identifier: BSD-3-Clause
//
// The flow table (docs/enso-hardware.md, "Steering"): four sub-tables of 2048 rows, a key
// may stand in one row of each. There is no delete and no eviction.
#pragma once

#include <array>
#include <bitset>
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
  /// `hash` is that of the key in the first sub-table.
  uint32_t Find(const FlowKey& key, uint32_t hash) const;
  bool empty() const { return tables_used_ == 0; }

 private:
  struct Entry {
    FlowKey key;
    uint32_t pipe = 0;
  };
  struct SubTable {
    std::array<Entry, regs::enso::kSubTableRows> rows;
    std::bitset<regs::enso::kSubTableRows> valid;
  };

  std::unique_ptr<std::array<SubTable, regs::enso::kSubTables>> tables_ =
      std::make_unique<std::array<SubTable, regs::enso::kSubTables>>();
  uint32_t tables_used_ = 0;  ///< Sub-tables from here on have no entry.
};

}  // namespace sluice::device::enso
