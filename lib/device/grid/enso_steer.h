// SPDX-License-Identifier: BSD-3-Clause
//
// Maps the first bytes of a frame to its pipe (docs/enso-hardware.md, "Steering"): the flow table,
// then the fallback by hash. The fallback by round robin is not modelled here.
#pragma once

#include <cstdint>

#include "device/grid/enso_card.h"
#include "regs/enso_flow.h"

namespace sluice::device::grid {

/// The key of a frame in the format of FlowHash, from bytes 16 … 47 of the frame. Trailing comments
/// give the byte offsets of each field.
struct EnsoKey {
  uint32_t dst_ip, src_ip, ports;

  EnsoKey(Quad first, Quad second) {
    const uint32_t protocol = static_cast<uint32_t>(first.low >> 56);                 // 23
    const uint32_t src = static_cast<uint32_t>(first.high >> 16);                     // 26 … 29
    const uint32_t dst = static_cast<uint32_t>(first.high >> 48 | second.low << 16);  // 30 … 33
    const uint32_t both = static_cast<uint32_t>(second.low >> 16);                    // 34 … 37
    const uint32_t flags = static_cast<uint32_t>(second.high >> 56);                  // 47
    constexpr uint32_t kTcp = 6, kUdp = 17, kSyn = 2;
    const bool all = protocol == kTcp && (flags & kSyn) == 0;
    dst_ip = __builtin_bswap32(dst);
    src_ip = all ? __builtin_bswap32(src) : 0;
    ports = __builtin_bswap32(both);
    if (!all) ports &= protocol == kTcp || protocol == kUdp ? 0xffffu : 0;
  }
};

inline uint32_t FlowRow(const EnsoKey& key, uint32_t table) {
  return regs::enso::FlowHash(key.dst_ip, key.src_ip, key.ports, table) % regs::enso::kSubTableRows;
}

/// Returns the pipe of the frame at `data`, in card memory. If the batch was put back, two blocks
/// can process the frame at once, so the other may be stamping it; a small frame's tag begins in
/// these bytes.
inline uint32_t PipeOf(const EnsoCard& card, const uint8_t* data) {
  const EnsoKey key(LoadQuad(data + 16), LoadQuad(data + 32));
  const uint32_t hash = regs::enso::FlowHash(key.dst_ip, key.src_ip, key.ports, 0);
  const uint32_t tables = Load(&card.flows_used), count = Load(&card.fallback_count),
                 mask = Load(&card.fallback_mask);
  for (uint32_t table = 0; table < tables; ++table) {
    const EnsoFlow& flow = card.flows[table][FlowRow(key, table)];
    if (Load(&flow.valid) == 0 || Load(&flow.dst_ip) != key.dst_ip ||
        Load(&flow.src_ip) != key.src_ip || Load(&flow.ports) != key.ports) {
      continue;
    }
    const uint32_t pipe = Load(&flow.pipe);
    if (pipe == regs::enso::kUnbind) break;
    return pipe % regs::enso::kMaxPipes;
  }
  if (count == 0) return EnsoCard::kNoPipe;
  return (hash & mask) % regs::enso::kMaxPipes;
}

/// Executes the command in a configuration slot (regs/enso.h): a flow entry or the fallback by
/// hash. All other commands are counted as unknown. Called by one thread.
inline void Configure(EnsoCard& card, const uint8_t* slot) {
  using namespace regs::enso;
  uint64_t words[6];
  for (uint32_t i = 0; i < 3; ++i) {
    const Quad quad = LoadQuad(slot + i * sizeof(Quad));
    words[2 * i] = quad.low;
    words[2 * i + 1] = quad.high;
  }
  card.Count(Event::kTxConfigs);
  const auto id = static_cast<ConfigId>(words[1]);
  if (id == ConfigId::kFallback) {
    const bool round_robin = words[3] >> 63 != 0;
    Store(&card.fallback_mask, static_cast<uint32_t>(words[2] >> 32));
    Store(&card.fallback_count, static_cast<uint32_t>(words[2]));
    if (round_robin) card.Count(Event::kTxConfigsUnknown);
    return;
  }
  if (id != ConfigId::kFlowEntry) {
    card.Count(Event::kTxConfigsUnknown);
    return;
  }
  EnsoKey key({0, 0}, {0, 0});
  // The destination port is in the upper half.
  key.ports =
      static_cast<uint32_t>(words[2] >> 16 << 16) | static_cast<uint32_t>(words[2] & 0xffff);
  key.dst_ip = static_cast<uint32_t>(words[2] >> 32);
  key.src_ip = static_cast<uint32_t>(words[3]);
  const auto pipe = static_cast<uint32_t>(words[4]);
  uint32_t place = kSubTables;
  for (uint32_t table = 0; table < kSubTables; ++table) {
    const EnsoFlow& flow = card.flows[table][FlowRow(key, table)];
    const bool valid = flow.valid != 0;
    if (valid && flow.dst_ip == key.dst_ip && flow.src_ip == key.src_ip &&
        flow.ports == key.ports) {
      place = table;
      break;
    }
    if (!valid && place == kSubTables) place = table;
  }
  if (place == kSubTables) return card.Count(Event::kFlowInsertsLost);
  EnsoFlow& flow = card.flows[place][FlowRow(key, place)];
  Store(&flow.dst_ip, key.dst_ip);
  Store(&flow.src_ip, key.src_ip);
  Store(&flow.ports, key.ports);
  Store(&flow.pipe, pipe);
  FenceCard();
  Store(&flow.valid, 1u);
  if (card.flows_used < place + 1) Store(&card.flows_used, place + 1);
}

}  // namespace sluice::device::grid
