// SPDX-License-Identifier: BSD-3-Clause
//
// One partition of the key-value store (MICA, NSDI'14, sections 4.3 and 4.4): an index of
// 64-byte buckets over items that lie in one stretch of memory. One thread, the owner, calls
// everything; any thread may Read (CREW), and notices by the bucket's version when the owner
// was at it.
//
//   cache   items lie in a circular log; the oldest make room, and the index forgets what does
//           not fit (lossy)
//   store   items lie in a segregated-fit heap; buckets grow chains; nothing is lost, and what
//           does not fit is refused
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "engine/kv/hash.h"

namespace sluice::engine::kv {

inline constexpr uint32_t kMaxKeyBytes = 250;           ///< memcached's limit. At least 1.
inline constexpr uint32_t kMaxStoreValueBytes = 1 << 20;  ///< Store mode.

enum class Mode : uint8_t { kCache, kStore };

struct PartitionOptions {
  Mode mode = Mode::kCache;
  /// Of the items, headers included; rounded up to a power of two in cache mode, at least 4 MiB.
  uint64_t memory_bytes = uint64_t{64} << 20;
  /// Expected; sizes the index. Store mode takes more as long as there is memory.
  uint64_t items = 1 << 20;
};

enum class Result : uint8_t {
  kOk,
  kNotFound,
  kExists,     ///< Compare-and-swap: changed since. kIfAbsent: it is there.
  kNotStored,  ///< kIfPresent, Append, Prepend: it is not there.
  kTooLarge,   ///< Key or value, or beyond what the log keeps.
  kNoMemory,   ///< Store mode: full.
};

enum class Condition : uint8_t { kAlways, kIfAbsent, kIfPresent, kIfUnchanged };

/// What is kept with a value. Seconds of the caller's clock; 0: never.
struct Attributes {
  uint32_t flags = 0;
  uint32_t expires_s = 0;
};

/// An item as it lies in memory: of the owner, valid until its next change of this partition.
struct ItemView {
  Bytes value;
  Attributes attributes;
  uint64_t unique = 0;  ///< memcached's "cas": another one after every change, never 0.
};

/// What Read copied.
struct ItemCopy {
  uint32_t value_bytes = 0;
  Attributes attributes;
  uint64_t unique = 0;
};

/// Totals of one partition; the owner writes, others read relaxed.
struct PartitionCounters {
  uint64_t items = 0;         ///< Live ones that the index knows; expired ones until found.
  uint64_t item_bytes = 0;    ///< With headers and padding, of those.
  uint64_t evicted = 0;       ///< Cache mode: overwritten, or pushed out of the index, unexpired.
  uint64_t expired = 0;
  uint64_t refused = 0;       ///< kNoMemory and kTooLarge.
  uint64_t extra_buckets = 0; ///< Store mode: in chains.
};

class Partition {
 public:
  /// Allocates index and memory, on huge pages where the host has them. Throws std::bad_alloc.
  explicit Partition(const PartitionOptions& options);
  ~Partition();
  Partition(Partition&&) noexcept;
  Partition(const Partition&) = delete;

  // The owner. `hash` is the key's; keys have 1 … kMaxKeyBytes bytes (else kTooLarge,
  // kNotFound). `now_s`: seconds; an item whose time has come is not there. Keys and values
  // given must not lie in this partition, except where said.

  std::optional<ItemView> Get(Bytes key, uint64_t hash, uint32_t now_s);
  /// `unique`: with kIfUnchanged the expected one. Returns the new one in `unique`, if not null.
  Result Set(Bytes key, uint64_t hash, Bytes value, Attributes attributes, Condition condition,
             uint32_t now_s, uint64_t* unique = nullptr);
  /// Adds `more` behind, or in front of, the value; attributes stay.
  Result Append(Bytes key, uint64_t hash, Bytes more, uint32_t now_s, uint64_t* unique = nullptr);
  Result Prepend(Bytes key, uint64_t hash, Bytes more, uint32_t now_s, uint64_t* unique = nullptr);
  /// `unique`: if not 0, only this one.
  Result Delete(Bytes key, uint64_t hash, uint64_t unique, uint32_t now_s);
  /// Changes the expiry alone; `unique` of the item stays.
  Result Touch(Bytes key, uint64_t hash, uint32_t expires_s, uint32_t now_s);
  /// Forgets everything.
  void Clear();
  /// Calls `see(key, view)` for each item that is there, in no order.
  void ForEach(uint32_t now_s, const std::function<void(Bytes key, const ItemView&)>& see) const;

  // Any thread.

  /// Copies the value to `to`. kNotFound; kTooLarge: `to` is too short (value_bytes is filled
  /// in). Never a mixture of two values; tries again while the owner writes.
  Result Read(Bytes key, uint64_t hash, uint32_t now_s, std::span<uint8_t> to,
              ItemCopy* copy) const;
  /// The two stages of a lookup's fetches (MICA, section 4.4): first the bucket; some requests
  /// later, when it is there, the items that its tags promise.
  void PrefetchBucket(uint64_t hash) const;
  void PrefetchItem(uint64_t hash) const;

  const PartitionCounters& counters() const;
  Mode mode() const;
  /// Of index and memory, all told: what it may come to occupy.
  uint64_t reserved_bytes() const;
  /// The longest value that a Set can store.
  uint32_t max_value_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::engine::kv
