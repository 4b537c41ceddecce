// SPDX-License-Identifier: BSD-3-Clause
//
// A store with workers that answer memcached's protocols, for tests.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kv/memcached/ascii.h"
#include "engine/kv/memcached/binary.h"

namespace sluice::engine::kv {

class MemcachedLab {
 public:
  struct Options {
    uint32_t workers = 1;
    bool concurrent_read = true;
    bool allow_flush = false;
    Mode mode = Mode::kCache;
  };

  MemcachedLab() : MemcachedLab(Options{}) {}
  MemcachedLab(const MemcachedLab&) = delete;
  explicit MemcachedLab(const Options& options) {
    for (uint32_t i = 0; i < options.workers; ++i) {
      store.partitions.emplace_back(
          PartitionOptions{.mode = options.mode, .memory_bytes = 4 << 20, .items = 1000});
    }
    store.workers = options.workers;
    store.concurrent_read = options.concurrent_read;
    store.allow_flush = options.allow_flush;
    store.traffic.push_back(traffic_);
  }

  /// Passes a datagram to worker 0, and on to other workers as needed. Returns the complete reply.
  std::string Ask(std::string_view datagram) {
    // An allocation of the exact size, so that a sanitizer detects reads beyond its end.
    const std::unique_ptr<uint8_t[]> bytes(new uint8_t[datagram.size()]);
    std::memcpy(bytes.get(), datagram.data(), datagram.size());
    const std::unique_ptr<uint8_t[]> room(new uint8_t[reply_room]);
    Reply reply({room.get(), reply_room});
    Exchange exchange;
    exchange.datagram = {bytes.get(), datagram.size()};
    exchange.now_s = now_s;
    exchange.unix_s = unix_s;
    exchange.max_reply_bytes = max_reply_bytes;
    exchange.server = server;
    const bool binary = !datagram.empty() && datagram[0] == '\x80';
    for (hops = 0;; ++hops) {
      Access access(store, exchange.owner);
      progress = binary ? memcached::ServeBinary(exchange, access, reply, counters)
                        : memcached::ServeAscii(exchange, access, reply, counters);
      if (progress != Progress::kForeign) break;
    }
    return {reinterpret_cast<const char*>(reply.bytes().data()), reply.size()};
  }

  /// Returns a key that worker `owner` owns. Each `number` yields a different key.
  std::string KeyOf(uint32_t owner, int number = 0) const {
    for (int i = 0;; ++i) {
      const std::string key = "key" + std::to_string(i);
      const Bytes bytes(reinterpret_cast<const uint8_t*>(key.data()), key.size());
      if (store.OwnerOf(RouteHash(bytes)) == owner && number-- == 0) return key;
    }
  }

  Store store;
  uint32_t now_s = 100;
  uint32_t unix_s = 1'700'000'000;
  uint32_t max_reply_bytes = 65536;
  size_t reply_room = 65536;
  const ServerFacts* server = nullptr;
  Progress progress = Progress::kDone;
  int hops = 0;  ///< Number of times that the last datagram was handed to another worker.

 private:
  std::shared_ptr<ResponderCounters> traffic_ = std::make_shared<ResponderCounters>();

 public:
  ProtocolCounters& counters = traffic_->memcached;  ///< Counters of all workers.
};

}  // namespace sluice::engine::kv
