// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/flow_table.h"

namespace sluice::device::enso {

using regs::enso::kSubTables;

bool FlowTable::Insert(const FlowKey& key, uint32_t pipe) {
  Entry* place = nullptr;
  for (uint32_t i = 0; i < kSubTables; ++i) {
    Entry& entry = Row(key, i);
    if (entry.valid && entry.key == key) {
      place = &entry;
      break;
    }
    if (!entry.valid && place == nullptr) place = &entry;
  }
  if (place == nullptr) return false;
  *place = {key, pipe, true};
  return true;
}

uint32_t FlowTable::Find(const FlowKey& key) const {
  for (uint32_t i = 0; i < kSubTables; ++i) {
    const Entry& entry = Row(key, i);
    if (entry.valid && entry.key == key) return entry.pipe;
  }
  return kMiss;
}

}  // namespace sluice::device::enso
