// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the ring with a ring computed by Python's hashlib and bisect, and with libmemcached if
// its headers are installed.
#include "engine/kv/client/ketama.h"

#include <gtest/gtest.h>

#ifdef HAVE_LIBMEMCACHED
#include <libmemcached-1.0/memcached.h>
#endif

#include <random>
#include <string>
#include <vector>

namespace sluice::engine::kv::client {
namespace {

const std::vector<RingServer> kServers = {{"10.0.0.1", 11211, 1},
                                          {"10.0.0.2", 11211, 1},
                                          {"cache-3.example", 11300, 1},
                                          {"::1", 11211, 1}};

Bytes BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// Returns the servers of the keys key-0 to key-63, as one digit per key.
std::string Servers(const Ring& ring) {
  std::string digits;
  for (int i = 0; i < 64; ++i) {
    digits += std::to_string(ring.ServerOf(BytesOf("key-" + std::to_string(i))));
  }
  return digits;
}

TEST(KetamaTest, AgreesWithARingOfPython) {
  std::vector<RingServer> servers = kServers;
  EXPECT_EQ("1102203012200011203113211210212213011030131033030132100313321303",
            Servers(Ring(servers, Ring::Kind::kWeighted)));
  EXPECT_EQ("1002203213013020022012020301221212001032130101333222232100220013",
            Servers(Ring(servers, Ring::Kind::kPlain)));
  servers[1].weight = 2, servers[2].weight = 3, servers[3].weight = 5;
  EXPECT_EQ("1112213213303011233133313213213213011031131333330132133313321333",
            Servers(Ring(servers, Ring::Kind::kWeighted)));
}

TEST(KetamaTest, AServerThatLeavesMovesOnlyItsOwnKeys) {
  std::vector<RingServer> servers = kServers;
  const Ring before(servers, Ring::Kind::kWeighted);
  servers.pop_back();
  const Ring after(servers, Ring::Kind::kWeighted);
  int moved = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string key = "key-" + std::to_string(i);
    const uint32_t server = before.ServerOf(BytesOf(key));
    if (server == 3) {
      ++moved;
    } else {
      EXPECT_EQ(server, after.ServerOf(BytesOf(key)));
    }
  }
  EXPECT_NEAR(2500, moved, 500);
}

#ifdef HAVE_LIBMEMCACHED
TEST(KetamaTest, AgreesWithLibmemcached) {
  std::mt19937 random(1);
  for (int round = 0; round < 40; ++round) {
    const auto kind = round % 2 ? Ring::Kind::kWeighted : Ring::Kind::kPlain;
    memcached_st* const peer = memcached_create(nullptr);
    if (kind == Ring::Kind::kWeighted) {
      memcached_behavior_set(peer, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
    } else {
      memcached_behavior_set(peer, MEMCACHED_BEHAVIOR_KETAMA, 1);
      memcached_behavior_set(peer, MEMCACHED_BEHAVIOR_HASH, MEMCACHED_HASH_MD5);
      memcached_behavior_set(peer, MEMCACHED_BEHAVIOR_KETAMA_HASH, MEMCACHED_HASH_MD5);
    }
    std::vector<RingServer> servers(1 + random() % 12);
    for (size_t i = 0; i < servers.size(); ++i) {
      servers[i] = {"10.0.0." + std::to_string(i),
                    static_cast<uint16_t>(random() % 2 ? 11211 : 1000 + random() % 5000),
                    static_cast<uint32_t>(round % 4 < 2 ? 1 : 1 + random() % 9)};
      ASSERT_EQ(MEMCACHED_SUCCESS,
                memcached_server_add_with_weight(peer, servers[i].host.c_str(), servers[i].port,
                                                 servers[i].weight));
    }
    const Ring ring(servers, kind);
    for (int i = 0; i < 1000; ++i) {
      const std::string key = std::to_string(random());
      ASSERT_EQ(memcached_generate_hash(peer, key.data(), key.size()), ring.ServerOf(BytesOf(key)))
          << "round " << round;
    }
    memcached_free(peer);
  }
}
#endif

}  // namespace
}  // namespace sluice::engine::kv::client
