// SPDX-License-Identifier: BSD-3-Clause
//
// What a client says and hears, whatever the protocol.
#pragma once

#include <cstdint>

#include "engine/kv/hash.h"

namespace sluice::engine::kv::client {

enum class Protocol : uint8_t { kMica, kMemcachedAscii, kMemcachedBinary };

struct Request {
  bool set = false;    ///< Else a get.
  uint32_t id = 0;     ///< Comes back in the answer; of kMemcachedAscii only the lower 16 bits.
  uint64_t route = 0;  ///< RouteHash of the key.
  Bytes key = {};
  Bytes value = {};  ///< Of a set.
};

enum class Outcome : uint8_t {
  kStored,
  kHit,
  kMiss,
  kError,  ///< The server says that it cannot: full, too large, refused.
};

struct Answer {
  uint32_t id = 0;
  Outcome outcome = Outcome::kError;
  Bytes value = {};  ///< kHit.
};

}  // namespace sluice::engine::kv::client
