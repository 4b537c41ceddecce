// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/fragments.h"

#include <algorithm>
#include <bit>

namespace sluice::engine::maglev {
namespace {

constexpr uint32_t kMaxFragmentEntries = 1u << 28;

}  // namespace

FragmentTable::FragmentTable(uint32_t capacity, uint32_t timeout_s)
    : buckets_(std::bit_ceil(std::clamp(capacity, kSlots, kMaxFragmentEntries)) / kSlots),
      timeout_s_(timeout_s) {}

void FragmentTable::Put(uint64_t tag, BackendRef backend, uint16_t vip, uint32_t seconds) {
  Bucket& bucket = buckets_[BucketOf(tag)];
  const auto age = [&](const Entry& entry) {
    if (entry.backend.generation == 0)
      return uint64_t{1} << 32;  // An empty entry is older than all others.
    return uint64_t{seconds - entry.put_s};
  };
  Entry* chosen = &bucket[0];
  for (Entry& entry : bucket) {
    if (entry.backend.generation != 0 && entry.tag == tag) {
      chosen = &entry;
      break;
    }
    if (age(entry) > age(*chosen)) chosen = &entry;
  }
  *chosen = {tag, seconds, backend, vip};
}

std::optional<FragmentTable::Found> FragmentTable::Find(uint64_t tag, uint32_t seconds) const {
  for (const Entry& entry : buckets_[BucketOf(tag)]) {
    const bool used = entry.backend.generation != 0;
    if (used && entry.tag == tag && seconds - entry.put_s <= timeout_s_) {
      return Found{entry.backend, entry.vip};
    }
  }
  return std::nullopt;
}

}  // namespace sluice::engine::maglev
