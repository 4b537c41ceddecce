// SPDX-License-Identifier: BSD-3-Clause
//
// Maps keys to servers: ketama's ring of MD5 points, identical to that of libmemcached 1.x, so that
// both clients use the same server for a key. Adding or removing a server moves only the keys
// between its points and the preceding points.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/kv/hash.h"

namespace sluice::engine::kv::client {

struct RingServer {
  std::string host;  ///< Name that clients use. It is hashed to place the server's points.
  uint16_t port = 11211;
  uint32_t weight = 1;  ///< A positive number.
};

class Ring {
 public:
  enum class Kind : uint8_t {
    /// MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED: 160 points for a server of average weight, four per
    /// digest.
    kWeighted,
    /// MEMCACHED_BEHAVIOR_KETAMA with MD5 as HASH and KETAMA_HASH: 100 points per server, one per
    /// digest. If any weight is not 1, behaves as kWeighted.
    kPlain,
  };

  /// Creates the ring of 1 … 65535 servers.
  Ring(std::span<const RingServer> servers, Kind kind);

  /// Returns the index of the key's server in the constructor's list.
  uint32_t ServerOf(Bytes key) const;

 private:
  struct Point {
    uint32_t value;
    uint32_t server;
  };
  std::vector<Point> points_;  // Sorted by value, at least one.
};

}  // namespace sluice::engine::kv::client
