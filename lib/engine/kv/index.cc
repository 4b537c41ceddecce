// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/index.h"

namespace sluice::engine::kv {

Index::Index(uint32_t heads, uint32_t extra)
    : mapping_((uint64_t{heads} + extra) * sizeof(Bucket)),
      buckets_(reinterpret_cast<Bucket*>(mapping_.data())),
      heads_(heads),
      end_(heads + extra),
      fresh_(heads) {}

bool Index::Add(Bucket& head, Slot slot) {
  Bucket* last = &head;
  while (Bucket* const next = Next(*last)) last = next;
  for (Slot& free : last->slots) {
    if (free != 0) continue;
    StoreWord(free, slot);
    return true;
  }
  uint32_t added = free_;
  if (added != 0) {
    free_ = buckets_[added].next;
    StoreWord(buckets_[added].next, 0u);
  } else if (fresh_ != end_) {
    added = fresh_++;
  } else {
    return false;
  }
  ++extra_in_use_;
  StoreWord(buckets_[added].slots[0], slot);
  StoreWord(last->next, added);
  return true;
}

void Index::Remove(Bucket& head, Slot& slot) {
  Bucket* before = nullptr;
  Bucket* last = &head;
  while (Bucket* const next = Next(*last)) {
    before = last;
    last = next;
  }
  if (before == nullptr) {
    StoreWord(slot, Slot{0});
    return;
  }
  int at = Bucket::kSlots - 1;
  while (last->slots[at] == 0) --at;
  StoreWord(slot, last->slots[at]);
  StoreWord(last->slots[at], Slot{0});
  // Keep the bucket if other slots are in use: earlier ones or, after a Remove in the bucket, later
  // ones.
  for (const Slot other : last->slots) {
    if (other != 0) return;
  }
  const uint32_t freed = before->next;
  StoreWord(before->next, 0u);
  StoreWord(last->next, free_);
  free_ = freed;
  --extra_in_use_;
}

}  // namespace sluice::engine::kv
