// SPDX-License-Identifier: BSD-3-Clause
//
// What memcached's three dialects do to items, on top of a partition's operations.
#pragma once

#include <cstdint>

#include "engine/kv/counters.h"
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
/// there, as memcached does: it would be stale. `unique`: the new one. Counts how it went.
Result StoreItem(Partition& partition, const StoreRequest& request, uint32_t now_s,
                 uint64_t* unique, ProtocolCounters& counters);

struct DeltaRequest {
  Bytes key{};
  uint64_t hash = 0;
  uint64_t delta = 1;
  bool decrement = false;  ///< Stops at 0; increments wrap.
  uint64_t compare = 0;    ///< If not 0.
};

enum class DeltaOutcome : uint8_t { kOk, kNotFound, kExists, kNonNumeric, kNoMemory };

struct DeltaAnswer {
  uint64_t value = 0;
  uint64_t unique = 0;
  uint32_t expires_s = 0;  ///< As it was.
};

/// Changes a decimal number. As memcached's, a value keeps its length, filled with spaces, unless
/// the number becomes longer. Counts how it went, but no miss: kNotFound may create the number.
DeltaOutcome ChangeNumber(Partition& partition, const DeltaRequest& request, uint32_t now_s,
                          DeltaAnswer* answer, ProtocolCounters& counters);
void CountMissedNumber(bool decrement, ProtocolCounters& counters);

}  // namespace sluice::engine::kv::memcached
