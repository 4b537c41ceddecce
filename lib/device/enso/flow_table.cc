// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/flow_table.h"

#include <algorithm>

namespace sluice::device::enso {

using regs::enso::FlowRow;
using regs::enso::kSubTableRows;
using regs::enso::kSubTables;

bool FlowTable::Insert(const FlowKey& key, uint32_t pipe) {
  uint32_t place = kSubTables;
  for (uint32_t i = 0; i < kSubTables; ++i) {
    const SubTable& table = (*tables_)[i];
    const uint32_t row = FlowRow(key, i);
    if (table.valid[row] && table.rows[row].key == key) {
      place = i;
      break;
    }
    if (!table.valid[row] && place == kSubTables) place = i;
  }
  if (place == kSubTables) return false;
  SubTable& table = (*tables_)[place];
  const uint32_t row = FlowRow(key, place);
  table.rows[row] = {key, pipe};
  table.valid.set(row);
  tables_used_ = std::max(tables_used_, place + 1);
  return true;
}

uint32_t FlowTable::Find(const FlowKey& key, uint32_t hash) const {
  for (uint32_t i = 0; i < tables_used_; ++i) {
    const SubTable& table = (*tables_)[i];
    const uint32_t row = i == 0 ? hash % kSubTableRows : FlowRow(key, i);
    if (table.valid[row] && table.rows[row].key == key) return table.rows[row].pipe;
  }
  return kMiss;
}

}  // namespace sluice::device::enso
