// SPDX-License-Identifier: BSD-3-Clause
//
// Which of several servers has a key: ketama's ring of MD5 points, point by point that of
// libmemcached 1.x, so that its clients and ours look for a key at the same server. A server that
// comes or goes moves only the keys between its points and those before them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/kv/hash.h"

namespace sluice::engine::kv::client {

struct RingServer {
  std::string host;  ///< As clients name it: the name is what is hashed.
  uint16_t port = 11211;
  uint32_t weight = 1;  ///< At least 1.
};

class Ring {
 public:
  enum class Kind : uint8_t {
    /// MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED: 160 points for a server of average weight, four of
    /// each digest.
    kWeighted,
    /// MEMCACHED_BEHAVIOR_KETAMA with MD5 as HASH and KETAMA_HASH: 100 points a server, one of
    /// each digest. Where weights differ from 1, this is kWeighted.
    kPlain,
  };

  /// At least one server, at most 65535.
  Ring(std::span<const RingServer> servers, Kind kind);

  /// The number of the server in the list.
  uint32_t ServerOf(Bytes key) const;

 private:
  struct Point {
    uint32_t value;
    uint32_t server;
  };
  std::vector<Point> points_;  // By value, at least one.
};

}  // namespace sluice::engine::kv::client
