// SPDX-License-Identifier: BSD-3-Clause
#include "net_enso/enso_flow_table.h"

#include <netinet/in.h>

#include "packet/bytes.h"

namespace sluice::net_enso {

using regs::enso::FlowRow;
using regs::enso::kSubTables;
using regs::enso::kUnbind;

FlowKey MaskFlow(const FlowKey& flow, uint8_t protocol) {
  if (protocol == IPPROTO_TCP) return flow;
  if (protocol == IPPROTO_UDP) return {.dst_ip = flow.dst_ip, .dst_port = flow.dst_port};
  return {.dst_ip = flow.dst_ip};
}

FlowKey KeyOfFrame(const uint8_t* flit) {
  constexpr uint8_t kSyn = 0x02;
  const FlowKey key{.dst_ip = packet::LoadBe32(flit + 30),
                    .src_ip = packet::LoadBe32(flit + 26),
                    .dst_port = packet::LoadBe16(flit + 36),
                    .src_port = packet::LoadBe16(flit + 34)};
  const uint8_t protocol = flit[23];
  const bool syn = protocol == IPPROTO_TCP && (flit[47] & kSyn) != 0;
  return MaskFlow(key, syn ? uint8_t{IPPROTO_UDP} : protocol);
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
