// SPDX-License-Identifier: BSD-3-Clause
//
// One worker's way to the whole store: its own partitions directly, those of others by Read.
// What a worker may not do itself, it hands over to the owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/kv/counters.h"
#include "engine/kv/hash.h"
#include "engine/kv/partition.h"
#include "engine/kv/word.h"

namespace sluice::engine::kv {

/// All partitions. Made before workers start; partition p belongs to worker p % workers.
struct Store {
  std::vector<Partition> partitions;
  uint32_t workers = 1;
  uint64_t secret = 0;          ///< Of the index hashes.
  bool trust_hashes = false;    ///< MICA protocol: believe the client's.
  bool concurrent_read = true;  ///< CREW; else EREW: reads are the owner's, too.
  bool allow_flush = false;     ///< flush_all from the network.
  /// One of each worker, which adds it when it is made, before any works; kept when it is gone.
  std::vector<std::shared_ptr<ResponderCounters>> traffic;
  /// Totals at the last `stats reset`, for memcached's `stats` alone. Any worker writes them.
  struct {
    ProtocolCounters memcached;
    uint64_t sets = 0;  ///< Of all protocols.
    uint64_t evicted = 0;
  } reset;

  uint32_t OwnerOf(uint64_t route) const {
    return PartitionOf(route, static_cast<uint32_t>(partitions.size())) % workers;
  }
  Partition& PartitionFor(uint64_t route) {
    return partitions[PartitionOf(route, static_cast<uint32_t>(partitions.size()))];
  }
};

/// Where a key is at home: found once for each request.
struct Home {
  Partition* partition;
  uint64_t index;  ///< KeyHash::index.
  uint32_t owner;  ///< Worker.
};

/// The home of a key that was read ahead of its turn. What is there then may be another key.
struct KnownHome {
  static constexpr size_t kMaxKeyBytes = 16;

  Home home;
  uint64_t key[kMaxKeyBytes / 8];
  uint32_t key_bytes = 0;  ///< 0: none is known, or it is longer than this remembers.

  void Remember(Bytes of, const Home& at) {
    home = at;
    key_bytes = 0;
    if (of.size() > kMaxKeyBytes) return;
    key_bytes = static_cast<uint32_t>(of.size());
    WordWriter writer(key);
    writer.Write(of);
    writer.Finish();
  }
  bool Is(Bytes other) const {
    return key_bytes != 0 && other.size() == key_bytes && EqualWords(key, other);
  }
};

/// Used by one worker.
class Access {
 public:
  /// The store has its partitions already.
  Access(Store& store, uint32_t worker)
      : store_(&store),
        worker_(worker),
        of_partitions_(static_cast<uint32_t>(store.partitions.size())),
        of_workers_(store.workers) {}

  Store& store() const { return *store_; }
  uint32_t worker() const { return worker_; }
  /// To a store of one partition all ways are one.
  KeyHash Hash(Bytes key) const {
    return {of_partitions_.divisor() == 1 ? 0 : RouteHash(key), IndexHash(key, store_->secret)};
  }
  Home HomeOf(const KeyHash& hash) const {
    const uint32_t partition = of_partitions_.Of(static_cast<uint32_t>(hash.route >> 48));
    return {&store_->partitions[partition], hash.index, of_workers_.Of(partition)};
  }

  bool MayWrite(const Home& home) const { return home.owner == worker_; }
  bool MayRead(const Home& home) const { return store_->concurrent_read || MayWrite(home); }
  /// Of a key that this worker MayRead. The view is valid until the next call of this worker
  /// for the store.
  std::optional<ItemView> Get(Bytes key, const Home& home, uint32_t now_s) {
    if (MayWrite(home)) [[likely]] return home.partition->Get(key, home.index, now_s);
    return Read(key, home, now_s);
  }

  // The same by the hash.
  bool MayWrite(const KeyHash& hash) const { return MayWrite(HomeOf(hash)); }
  bool MayRead(const KeyHash& hash) const { return MayRead(HomeOf(hash)); }
  std::optional<ItemView> Get(Bytes key, const KeyHash& hash, uint32_t now_s) {
    return Get(key, HomeOf(hash), now_s);
  }
  /// Of a key that this worker MayWrite.
  Partition& Own(const KeyHash& hash) const { return *HomeOf(hash).partition; }

 private:
  /// Remainders of numbers below 2^16 without a division (Lemire, Kaser, Kurz: Faster remainder
  /// by direct computation, 2019), which is PartitionOf's modulo.
  class Remainder {
   public:
    explicit Remainder(uint32_t divisor)
        : inverse_(divisor == 0 ? 0 : ~uint32_t{0} / divisor + 1), divisor_(divisor) {}
    uint32_t Of(uint32_t number) const {
      return static_cast<uint32_t>(uint64_t{inverse_ * number} * divisor_ >> 32);
    }

    uint32_t divisor() const { return divisor_; }

   private:
    uint32_t inverse_;  ///< 2^32 / divisor, rounded up; modulo 2^32.
    uint32_t divisor_;  ///< Below 2^16.
  };

  /// Of another worker's partition.
  std::optional<ItemView> Read(Bytes key, const Home& home, uint32_t now_s);

  Store* store_;
  uint32_t worker_;
  Remainder of_partitions_;
  Remainder of_workers_;
  std::vector<uint8_t> copy_;  ///< Of what another worker owns.
};

}  // namespace sluice::engine::kv
