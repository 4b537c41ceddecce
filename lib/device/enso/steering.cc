// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/steering.h"

#include <algorithm>

namespace sluice::device::enso {

bool Steering::InsertFlow(const FlowKey& key, uint32_t pipe) {
  EmptyCache();
  return flows_.Insert(key, pipe);
}

void Steering::SetFallback(uint32_t count, uint32_t mask, bool round_robin) {
  EmptyCache();
  fallback_count_ = count;
  fallback_mask_ = mask;
  round_robin_ = round_robin;
  counter_.SetMask(mask, clock_.Cycles());
}

// What has no pipe of its own in the cache: unknown keys, drops, round robin.
uint32_t Steering::FillAndResolve(CacheEntry& entry, RawKey key, uint32_t length) {
  if (entry.ips != key.ips || entry.ports != key.ports || entry.target == kUnknown) {
    entry = {key.ips, key.ports, Lookup(key)};
  }
  if (entry.target != kRoundRobin) return entry.target;
  return counter_.At(clock_.Arrive(length)) % regs::enso::kMaxPipes;
}

uint32_t Steering::Lookup(RawKey raw) const {
  const FlowKey key = {
      .dst_ip = __builtin_bswap32(static_cast<uint32_t>(raw.ips >> 32)),
      .src_ip = __builtin_bswap32(static_cast<uint32_t>(raw.ips)),
      .dst_port = __builtin_bswap16(static_cast<uint16_t>(raw.ports >> 16)),
      .src_port = __builtin_bswap16(static_cast<uint16_t>(raw.ports)),
  };
  const uint32_t pipe = flows_.Find(key);
  if (pipe != FlowTable::kMiss) return pipe % regs::enso::kMaxPipes;
  if (fallback_count_ == 0) return kNoPipe;
  if (round_robin_) return kRoundRobin;
  return (regs::enso::FlowHash(key, 0) & fallback_mask_) % regs::enso::kMaxPipes;
}

void Steering::EmptyCache() { std::fill(cache_.begin(), cache_.end(), CacheEntry{}); }

}  // namespace sluice::device::enso
