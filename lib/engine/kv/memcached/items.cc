// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/items.h"

#include <algorithm>

#include "engine/kv/memcached/numbers.h"

namespace sluice::engine::kv::memcached {
namespace {

Result Extend(Partition& partition, const StoreRequest& request, uint32_t now_s, uint64_t* unique) {
  const auto& [key, hash, value, attributes, mode, compare] = request;
  if (compare != 0) {
    const auto item = partition.Get(key, hash, now_s);
    if (!item) return Result::kNotStored;
    if (item->unique != compare) return Result::kExists;
  }
  return mode == StoreMode::kAppend ? partition.Append(key, hash, value, now_s, unique)
                                    : partition.Prepend(key, hash, value, now_s, unique);
}

Result CompareAndSet(Partition& partition, const StoreRequest& request, uint32_t now_s,
                     uint64_t* unique) {
  *unique = request.compare;
  // 0 is not the unique of any item.
  if (request.compare == 0) {
    return partition.Get(request.key, request.hash, now_s) ? Result::kExists : Result::kNotFound;
  }
  return partition.Set(request.key, request.hash, request.value, request.attributes,
                       Condition::kIfUnchanged, now_s, unique);
}

Result SetIf(Condition condition, Partition& partition, const StoreRequest& request, uint32_t now_s,
             uint64_t* unique) {
  return partition.Set(request.key, request.hash, request.value, request.attributes, condition,
                       now_s, unique);
}

Result StoreUncounted(Partition& partition, const StoreRequest& request, uint32_t now_s,
                      uint64_t* unique) {
  switch (request.mode) {
    case StoreMode::kSet:
      return SetIf(Condition::kAlways, partition, request, now_s, unique);
    case StoreMode::kAdd: {
      const Result result = SetIf(Condition::kIfAbsent, partition, request, now_s, unique);
      return result == Result::kExists ? Result::kNotStored : result;
    }
    case StoreMode::kReplace:
      return SetIf(Condition::kIfPresent, partition, request, now_s, unique);
    case StoreMode::kAppend:
    case StoreMode::kPrepend:
      return Extend(partition, request, now_s, unique);
    case StoreMode::kCas:
      break;
  }
  return CompareAndSet(partition, request, now_s, unique);
}

}  // namespace

Result StoreItem(Partition& partition, const StoreRequest& request, uint32_t now_s,
                 uint64_t* unique, ProtocolCounters& counters) {
  const Result result = StoreUncounted(partition, request, now_s, unique);
  if (result == Result::kTooLarge) {
    RejectTooLarge(partition, request, now_s, counters);
  } else if (result == Result::kNoMemory) {
    ++counters.no_memory;
  } else {
    ++counters.stores;
  }
  if (result == Result::kOk) ++counters.sets;
  if (request.mode == StoreMode::kCas) {
    if (result == Result::kOk) ++counters.cas_hits;
    if (result == Result::kExists) ++counters.cas_badval;
    if (result == Result::kNotFound) ++counters.cas_misses;
  }
  return result;
}

Result RejectTooLarge(Partition& partition, const StoreRequest& request, uint32_t now_s,
                      ProtocolCounters& counters) {
  ++counters.too_large;
  if (request.mode == StoreMode::kSet && partition.mode() == Mode::kCache) {
    partition.Delete(request.key, request.hash, 0, now_s);
  }
  return Result::kTooLarge;
}

DeltaOutcome ChangeNumber(Partition& partition, const DeltaRequest& request, uint32_t now_s,
                          DeltaAnswer* answer, ProtocolCounters& counters) {
  const auto item = partition.Get(request.key, request.hash, now_s);
  if (!item) return DeltaOutcome::kNotFound;
  if (request.compare != 0 && request.compare != item->unique) return DeltaOutcome::kExists;
  const auto old =
      ParseUnsigned({reinterpret_cast<const char*>(item->value.data()), item->value.size()});
  if (!old) return DeltaOutcome::kNonNumeric;
  answer->value = request.decrement ? *old - std::min(*old, request.delta) : *old + request.delta;
  answer->expires_s = item->attributes.expires_s;

  const Digits digits(answer->value);
  const Bytes text(reinterpret_cast<const uint8_t*>(digits.text().data()), digits.text().size());
  if (text.size() <= item->value.size()) {
    partition.SetPadded(request.key, request.hash, text, now_s, &answer->unique);
  } else if (partition.Set(request.key, request.hash, text, Attributes(item->attributes),
                           Condition::kAlways, now_s, &answer->unique) == Result::kOk) {
    ++counters.sets;
  } else {
    return DeltaOutcome::kNoMemory;
  }
  ++(request.decrement ? counters.decr_hits : counters.incr_hits);
  return DeltaOutcome::kOk;
}

void CountMissedNumber(bool decrement, ProtocolCounters& counters) {
  ++(decrement ? counters.decr_misses : counters.incr_misses);
}

}  // namespace sluice::engine::kv::memcached
