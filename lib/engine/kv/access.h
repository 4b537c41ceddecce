// SPDX-License-Identifier: BSD-3-Clause
//
// Gives a worker access to the whole store. The worker accesses its partitions directly, and reads
// those of other workers with Partition::Read. A request that only the owner may serve is handed to
// the owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/kv/chain_copy.h"
#include "engine/kv/counters.h"
#include "engine/kv/hash.h"
#include "engine/kv/partition.h"
#include "engine/kv/word.h"

namespace sluice::engine::kv {

/// All partitions, created before workers start. Worker p % workers owns partition p.
struct Store {
  std::vector<Partition> partitions;
  uint32_t workers = 1;
  uint64_t secret = 0;          ///< Seed of the index hashes.
  bool trust_hashes = false;    ///< MICA protocol: use the client's key hash.
  bool concurrent_read = true;  ///< True (CREW): any worker may read; false (EREW): only the owner.
  bool allow_flush = false;     ///< Allows flush_all from the network.
  /// Counters of each worker; an element outlives its worker.
  std::vector<std::shared_ptr<ResponderCounters>> traffic;
  /// Indexed by worker. A live snapshot uses it to request copies of chains in partitions that the
  /// worker owns.
  std::vector<std::shared_ptr<ChainRequest>> chain_requests;
  /// Totals at the last `stats reset`; only for memcached's `stats`. Any worker may write them.
  struct {
    ProtocolCounters memcached;
    uint64_t sets = 0;  ///< Sum over all protocols.
    uint64_t evicted = 0;
  } reset;

  /// Adds a worker. Each worker's server calls it in its constructor, before any worker runs.
  void AddWorker(uint32_t worker, std::shared_ptr<ResponderCounters> counters,
                 std::shared_ptr<ChainRequest> chain_request) {
    traffic.push_back(std::move(counters));
    if (chain_requests.size() <= worker) chain_requests.resize(worker + 1);
    chain_requests[worker] = std::move(chain_request);
  }
  uint32_t OwnerOf(uint64_t route) const {
    return PartitionOf(route, static_cast<uint32_t>(partitions.size())) % workers;
  }
  Partition& PartitionFor(uint64_t route) {
    return partitions[PartitionOf(route, static_cast<uint32_t>(partitions.size()))];
  }
};

/// Location of a key; computed once per request.
struct Home {
  Partition* partition;
  uint64_t index;  ///< KeyHash::index.
  uint32_t owner;  ///< Worker that owns `partition`.
};

/// Computes the locations of keys. This is a value type, so that loops can keep it in registers.
class Homes {
 public:
  /// `store` must already contain its partitions and its secret.
  explicit Homes(Store& store)
      : partitions_(store.partitions.data()),
        index_hash_(store.secret),
        of_partitions_(static_cast<uint32_t>(store.partitions.size())),
        of_workers_(store.workers) {}

  /// Returns the hashes of a key. With one partition the route hash is not needed and stays 0.
  KeyHash Hash(Bytes key) const {
    return {of_partitions_.divisor() == 1 ? 0 : RouteHash(key), index_hash_.Of(key)};
  }
  Home Of(const KeyHash& hash) const {
    const uint32_t partition = of_partitions_.Of(static_cast<uint32_t>(hash.route >> 48));
    return {partitions_ + partition, hash.index, of_workers_.Of(partition)};
  }
  Home Of(Bytes key) const {
    const uint64_t index = index_hash_.Of(key);
    if (of_partitions_.divisor() == 1) return {partitions_, index, 0};
    return Of(KeyHash{RouteHash(key), index});
  }
  /// Returns whether there is one partition, which worker 0 owns.
  bool one_partition() const { return of_partitions_.divisor() == 1; }
  /// Returns the location of a key of 8 bytes, loaded little-endian. `one` is one_partition().
  Home OfWord(uint64_t key, bool one) const {
    const uint64_t index = index_hash_.OfWord(key);
    if (one) return {partitions_, index, 0};
    return Of(KeyHash{Xxh3(0).OfWord(key), index});
  }

 private:
  /// Computes PartitionOf's modulo without a division for numbers below 2^16 (Lemire, Kaser, Kurz:
  /// Faster remainder by direct computation, 2019).
  class Remainder {
   public:
    explicit Remainder(uint32_t divisor)
        : inverse_(divisor == 0 ? 0 : ~uint32_t{0} / divisor + 1), divisor_(divisor) {}
    uint32_t Of(uint32_t number) const {
      return static_cast<uint32_t>(uint64_t{inverse_ * number} * divisor_ >> 32);
    }

    uint32_t divisor() const { return divisor_; }

   private:
    uint32_t inverse_;  ///< 2^32 / divisor, rounded up, modulo 2^32.
    uint32_t divisor_;  ///< Below 2^16.
  };

  Partition* partitions_;
  Xxh3 index_hash_;
  Remainder of_partitions_;
  Remainder of_workers_;
};

/// Gives one worker access to the store. Only this worker may use the object.
class Access {
 public:
  /// `store` must already contain its partitions and its secret.
  Access(Store& store, uint32_t worker) : store_(&store), homes_(store), worker_(worker) {}

  Store& store() const { return *store_; }
  uint32_t worker() const { return worker_; }
  const Homes& homes() const { return homes_; }
  KeyHash Hash(Bytes key) const { return homes_.Hash(key); }
  Home HomeOf(const KeyHash& hash) const { return homes_.Of(hash); }

  bool MayWrite(const Home& home) const { return home.owner == worker_; }
  bool MayRead(const Home& home) const { return store_->concurrent_read || MayWrite(home); }
  /// Returns the item of a key for which MayRead is true. The view is valid until this worker next
  /// accesses the store.
  std::optional<ItemView> Get(Bytes key, const Home& home, uint32_t now_s) {
    if (MayWrite(home)) [[likely]]
      return home.partition->Get(key, home.index, now_s);
    return Read(key, home, now_s);
  }

  // Overloads that find the location from the key's hash.
  bool MayWrite(const KeyHash& hash) const { return MayWrite(HomeOf(hash)); }
  bool MayRead(const KeyHash& hash) const { return MayRead(HomeOf(hash)); }
  std::optional<ItemView> Get(Bytes key, const KeyHash& hash, uint32_t now_s) {
    return Get(key, HomeOf(hash), now_s);
  }
  /// Returns the partition of a key for which MayWrite is true.
  Partition& Own(const KeyHash& hash) const { return *HomeOf(hash).partition; }

 private:
  /// Reads from another worker's partition.
  std::optional<ItemView> Read(Bytes key, const Home& home, uint32_t now_s);

  Store* store_;
  Homes homes_;
  uint32_t worker_;
  std::vector<uint8_t> copy_;  ///< Copy of an item that another worker owns.
};

}  // namespace sluice::engine::kv
