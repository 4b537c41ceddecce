// SPDX-License-Identifier: BSD-3-Clause
//
// One worker's way to the whole store: its own partitions directly, those of others by Read.
// What a worker may not do itself, it hands over to the owner.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/kv/hash.h"
#include "engine/kv/partition.h"

namespace sluice::engine::kv {

/// All partitions. Made before workers start; partition p belongs to worker p % workers.
struct Store {
  std::vector<Partition> partitions;
  uint32_t workers = 1;
  uint64_t secret = 0;          ///< Of the index hashes.
  bool trust_hashes = false;    ///< MICA protocol: believe the client's.
  bool concurrent_read = true;  ///< CREW; else EREW: reads are the owner's, too.
  bool allow_flush = false;     ///< flush_all from the network.

  uint32_t OwnerOf(uint64_t route) const {
    return PartitionOf(route, static_cast<uint32_t>(partitions.size())) % workers;
  }
  Partition& PartitionFor(uint64_t route) {
    return partitions[PartitionOf(route, static_cast<uint32_t>(partitions.size()))];
  }
};

/// Used by one worker.
class Access {
 public:
  Access(Store& store, uint32_t worker) : store_(&store), worker_(worker) {}

  Store& store() const { return *store_; }
  uint32_t worker() const { return worker_; }
  KeyHash Hash(Bytes key) const { return HashOf(key, store_->secret); }

  bool MayWrite(const KeyHash& hash) const { return store_->OwnerOf(hash.route) == worker_; }
  bool MayRead(const KeyHash& hash) const { return store_->concurrent_read || MayWrite(hash); }
  /// Of a key that this worker MayWrite.
  Partition& Own(const KeyHash& hash) const { return store_->PartitionFor(hash.route); }

  /// Of a key that this worker MayRead. The view is valid until the next call of this worker
  /// for the store.
  std::optional<ItemView> Get(Bytes key, const KeyHash& hash, uint32_t now_s);

 private:
  Store* store_;
  uint32_t worker_;
  std::vector<uint8_t> copy_;  ///< Of what another worker owns.
};

}  // namespace sluice::engine::kv
