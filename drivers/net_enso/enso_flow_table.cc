// SPDX-License-Identifier: BSD-3-Clause
#include "net_enso/enso_flow_table.h"

#include <netinet/in.h>

#include <bit>

namespace sluice::net_enso {

using regs::enso::kHashSeed;
using regs::enso::kSubTableRows;
using regs::enso::kSubTables;
using regs::enso::kUnbind;

FlowKey MaskFlow(const FlowKey& flow, uint8_t protocol) {
  if (protocol == IPPROTO_TCP) return flow;
  if (protocol == IPPROTO_UDP) return {.dst_ip = flow.dst_ip, .dst_port = flow.dst_port};
  return {.dst_ip = flow.dst_ip};
}

uint32_t FlowRow(const FlowKey& key, uint32_t table) {
  const uint32_t seed = kHashSeed + table;
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
  return c % kSubTableRows;
}

FlowTable::FlowTable() : tables_(kSubTables) {}

FlowTable::Result FlowTable::Insert(const FlowKey& key, uint32_t pipe) {
  if (Row* row = FindRow(key)) {
    if (row->pipe != kUnbind && row->pipe != pipe) return Result::kExists;
    row->pipe = pipe;
    return Result::kStored;
  }
  for (uint32_t table = 0; table < kSubTables; ++table) {
    Row& row = tables_[table][FlowRow(key, table)];
    if (row.taken) continue;
    row = {key, pipe, true};
    return Result::kStored;
  }
  return Result::kFull;
}

bool FlowTable::Unbind(const FlowKey& key, uint32_t pipe) {
  Row* row = FindRow(key);
  if (row == nullptr || row->pipe != pipe) return false;
  row->pipe = kUnbind;
  return true;
}

uint32_t FlowTable::Find(const FlowKey& key) const {
  const Row* row = FindRow(key);
  return row == nullptr ? kUnbind : row->pipe;
}

std::vector<FlowKey> FlowTable::KeysOf(uint32_t pipe) const {
  std::vector<FlowKey> keys;
  for (const SubTable& table : tables_) {
    for (const Row& row : table) {
      if (row.taken && row.pipe == pipe) keys.push_back(row.key);
    }
  }
  return keys;
}

const FlowTable::Row* FlowTable::FindRow(const FlowKey& key) const {
  for (uint32_t table = 0; table < kSubTables; ++table) {
    const Row& row = tables_[table][FlowRow(key, table)];
    if (row.taken && row.key == key) return &row;
  }
  return nullptr;
}

}  // namespace sluice::net_enso
