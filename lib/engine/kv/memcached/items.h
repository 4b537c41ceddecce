// SPDX-License-Identifier: BSD-3-Clause
//
// Item operations that memcached's three dialects share, built on Partition.
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
  Attributes attributes{};  ///< Ignored by append and prepend.
  StoreMode mode = StoreMode::kSet;
  /// Expected unique: always for cas; for append and prepend if it is not 0.
  uint64_t compare = 0;
};

/// Stores an item and counts the result: kOk, kNotFound (cas), kExists (the unique differs),
/// kNotStored (the condition of the mode is not met), kTooLarge or kNoMemory. As in memcached, a
/// set that is too large deletes the old item in cache mode, because that item would be stale.
/// `unique` receives the new unique.
Result StoreItem(Partition& partition, const StoreRequest& request, uint32_t now_s,
                 uint64_t* unique, ProtocolCounters& counters);
/// Does what StoreItem does if the value is too large, without the value. Returns kTooLarge.
Result RejectTooLarge(Partition& partition, const StoreRequest& request, uint32_t now_s,
                      ProtocolCounters& counters);

struct DeltaRequest {
  Bytes key{};
  uint64_t hash = 0;
  uint64_t delta = 1;
  bool decrement = false;  ///< True: subtracts, but not below 0. False: adds modulo 2^64.
  uint64_t compare = 0;    ///< Expected unique unless 0.
};

enum class DeltaOutcome : uint8_t { kOk, kNotFound, kExists, kNonNumeric, kNoMemory };

struct DeltaAnswer {
  uint64_t value = 0;
  uint64_t unique = 0;
  uint32_t expires_s = 0;  ///< The item's expiry, which does not change.
};

/// Changes a decimal number and counts the result. As in memcached, the value keeps its length and
/// is padded with spaces, unless the number becomes longer. Misses are not counted, because the
/// caller may create the number after kNotFound.
DeltaOutcome ChangeNumber(Partition& partition, const DeltaRequest& request, uint32_t now_s,
                          DeltaAnswer* answer, ProtocolCounters& counters);
void CountMissedNumber(bool decrement, ProtocolCounters& counters);

}  // namespace sluice::engine::kv::memcached
