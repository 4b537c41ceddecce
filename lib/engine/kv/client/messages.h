// SPDX-License-Identifier: BSD-3-Clause
//
// Requests and answers of a client, independent of the protocol.
#pragma once

#include <cstdint>

#include "engine/kv/hash.h"

namespace sluice::engine::kv::client {

enum class Protocol : uint8_t { kMica, kMemcachedAscii, kMemcachedBinary };

struct Request {
  bool set = false;    ///< True: a set; false: a get.
  uint32_t id = 0;     ///< Returned in the answer; kMemcachedAscii returns only the lower 16 bits.
  uint64_t route = 0;  ///< RouteHash of the key.
  Bytes key = {};
  Bytes value = {};  ///< Value to set.
};

enum class Outcome : uint8_t {
  kStored,
  kHit,
  kMiss,
  kError,  ///< An error, e.g. the store is full or the value is too large.
};

struct Answer {
  uint32_t id = 0;
  Outcome outcome = Outcome::kError;
  Bytes value = {};  ///< Only for kHit.
};

}  // namespace sluice::engine::kv::client
