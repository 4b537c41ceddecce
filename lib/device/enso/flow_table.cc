// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/flow_table.h"

#include <bit>

namespace sluice::device::enso {

using regs::enso::kSubTables;

// Bob Jenkins' lookup3 (2006, public domain): the final mix over three words.
uint32_t FlowHash(const FlowKey& key, uint32_t index) {
  const uint32_t seed = regs::enso::kHashSeed + index;
  uint32_t a = ((key.dst_ip & 0xffff) << 16 | key.dst_port) + seed;
  uint32_t b = (uint32_t{key.src_port} << 16 | key.dst_ip >> 16) + seed;
  uint32_t c = key.src_ip + seed;
  c = (c ^ b) - std::rotl(b, 14);
  a = (a ^ c) - std::rotl(c, 11);
  b = (b ^ a) - std::rotl(a, 25);
  c = (c ^ b) - std::rotl(b, 16);
  a = (a ^ c) - std::rotl(c, 4);
  b = (b ^ a) - std::rotl(a, 14);
  c = (c ^ b) - std::rotl(b, 24);
  return c;
}

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
