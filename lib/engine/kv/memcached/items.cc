// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/items.h"

#include <algorithm>
#include <array>

#include "engine/kv/memcached/numbers.h"

namespace sluice::engine::kv::memcached {
namespace {

Result Extend(Partition& partition, const StoreRequest& request, uint32_t now_s,
              uint64_t* unique) {
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
  // No item has this one.
  if (request.compare == 0) {
    return partition.Get(request.key, request.hash, now_s) ? Result::kExists : Result::kNotFound;
  }
  return partition.Set(request.key, request.hash, request.value, request.attributes,
                       Condition::kIfUnchanged, now_s, unique);
}

Result SetIf(Condition condition, Partition& partition, const StoreRequest& request,
             uint32_t now_s, uint64_t* unique) {
  return partition.Set(request.key, request.hash, request.value, request.attributes, condition,
                       now_s, unique);
}

}  // namespace

Result StoreItem(Partition& partition, const StoreRequest& request, uint32_t now_s,
                 uint64_t* unique) {
  switch (request.mode) {
    case StoreMode::kSet: {
      const Result result = SetIf(Condition::kAlways, partition, request, now_s, unique);
      if (result == Result::kTooLarge && partition.mode() == Mode::kCache) {
        partition.Delete(request.key, request.hash, 0, now_s);
      }
      return result;
    }
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

DeltaOutcome ChangeNumber(Partition& partition, const DeltaRequest& request, uint32_t now_s,
                          DeltaAnswer* answer) {
  const auto item = partition.Get(request.key, request.hash, now_s);
  if (!item) return DeltaOutcome::kNotFound;
  if (request.compare != 0 && request.compare != item->unique) return DeltaOutcome::kExists;
  const auto old = ParseUnsigned(
      {reinterpret_cast<const char*>(item->value.data()), item->value.size()});
  if (!old) return DeltaOutcome::kNonNumeric;
  answer->value = request.decrement ? *old - std::min(*old, request.delta) : *old + request.delta;

  std::array<uint8_t, kPaddedBytes> text;
  text.fill(' ');
  const Digits digits(answer->value);
  std::copy(digits.text().begin(), digits.text().end(), text.begin());
  size_t bytes = digits.text().size();
  if (item->value.size() <= text.size()) bytes = std::max(bytes, item->value.size());
  Attributes attributes = item->attributes;
  if (request.expires_s) attributes.expires_s = *request.expires_s;
  answer->expires_s = attributes.expires_s;
  const Result result = partition.Set(request.key, request.hash, Bytes(text).first(bytes),
                                      attributes, Condition::kAlways, now_s, &answer->unique);
  return result == Result::kOk ? DeltaOutcome::kOk : DeltaOutcome::kNoMemory;
}

}  // namespace sluice::engine::kv::memcached
