// SPDX-License-Identifier: BSD-3-Clause
//
// What memcached's three dialects do to items, on top of a partition's operations.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/kv/partition.h"

namespace sluice::engine::kv::memcached {

enum class StoreMode : uint8_t { kSet, kAdd, kReplace, kAppend, kPrepend, kCas };

struct StoreRequest {
  Bytes key{};
  uint64_t hash = 0;
  Bytes value{};
  Attributes attributes{};  ///< Append and prepend leave what there is.
  StoreMode mode = StoreMode::kSet;
  uint64_t compare = 0;  ///< Of cas; of append and prepend, if not 0.
};

/// kOk, kNotFound (cas), kExists (compared, and another one), kNotStored (the others'
/// condition), kTooLarge or kNoMemory. In cache mode, a set that is too large deletes what was
/// there, as memcached does: it would be stale. `unique`: the new one.
Result StoreItem(Partition& partition, const StoreRequest& request, uint32_t now_s,
                 uint64_t* unique);

struct DeltaRequest {
  Bytes key{};
  uint64_t hash = 0;
  uint64_t delta = 1;
  bool decrement = false;             ///< Stops at 0; increments wrap.
  uint64_t compare = 0;               ///< If not 0.
  std::optional<uint32_t> expires_s{};  ///< A new expiry; else that of the item stays.
};

enum class DeltaOutcome : uint8_t { kOk, kNotFound, kExists, kNonNumeric, kNoMemory };

struct DeltaAnswer {
  uint64_t value = 0;
  uint64_t unique = 0;
  uint32_t expires_s = 0;
};

/// Changes a decimal number. As memcached's, a value keeps its length, filled with spaces, where
/// the number becomes shorter; those longer than kPaddedBytes become as long as the number.
inline constexpr size_t kPaddedBytes = 64;
DeltaOutcome ChangeNumber(Partition& partition, const DeltaRequest& request, uint32_t now_s,
                          DeltaAnswer* answer);

}  // namespace sluice::engine::kv::memcached
