// SPDX-License-Identifier: BSD-3-Clause
//
// The flow table (docs/enso-hardware.md, "Steering"): four sub-tables of 2048 rows. Each key has
// one possible row in each sub-table. Entries cannot be deleted or evicted.
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
  /// Result of Find if the key has no entry, or its entry contains kUnbind.
  static constexpr uint32_t kMiss = regs::enso::kUnbind;

  /// Overwrites the key's entry if it has one, otherwise uses the first free row. Returns false if
  /// all four rows are in use; the hardware does not report this.
  bool Insert(const FlowKey& key, uint32_t pipe);
  /// Returns the key's pipe or kMiss. `hash` is the key's hash in the first sub-table.
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
  uint32_t tables_used_ = 0;  ///< Number of leading sub-tables that may have entries.
};

}  // namespace sluice::device::enso
