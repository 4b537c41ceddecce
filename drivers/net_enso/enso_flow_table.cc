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

FlowTable::Result FlowTable::Check(const FlowKey& key, uint32_t pipe) const {
  const Row* row = FindRow(key);
  if (row == nullptr) return Result::kFull;
  return row->pipe != kUnbind && row->pipe != pipe ? Result::kExists : Result::kStored;
}

FlowTable::Result FlowTable::Insert(const FlowKey& key, uint32_t pipe) {
  const Result result = Check(key, pipe);
  if (result == Result::kStored) *const_cast<Row*>(FindRow(key)) = {key, pipe, true};
  return result;
}

bool FlowTable::Unbind(const FlowKey& key, uint32_t pipe) {
  const Row* row = FindRow(key);
  if (row == nullptr || !row->taken || row->pipe != pipe) return false;
  const_cast<Row*>(row)->pipe = kUnbind;
  return true;
}

uint32_t FlowTable::Find(const FlowKey& key) const {
  const Row* row = FindRow(key);
  return row == nullptr || !row->taken ? kUnbind : row->pipe;
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
  const Row* first_free = nullptr;
  for (uint32_t table = 0; table < kSubTables; ++table) {
    const Row& row = tables_[table][FlowRow(key, table)];
    if (row.taken && row.key == key) return &row;
    if (!row.taken && first_free == nullptr) first_free = &row;
  }
  return first_free;
}

}  // namespace sluice::net_enso
