// SPDX-License-Identifier: BSD-3-Clause
//
// All items of a store in a file, for a warm restart. Little-endian:
//
//   header    "SLUICEKV", u32 version 1, u32 0
//   block     u32 bytes of records, u32 records, u64 XXH3 of the records, seeded with the number
//             of the block (0, 1, …) so that none is missing or moved
//   record    u32 value bytes << 8 | key bytes, u32 flags, u32 seconds left to live (0: for ever),
//             u32 0, u64 unique (not 0), key, value
//   end       a block of two u64 instead of records, said to be 0 of them: items of all blocks,
//             last unique that was given, at most 2^63 and not below any item's; then nothing more
//
// Seconds left to live do not pass while an item is in the file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "engine/kv/hash.h"
#include "engine/kv/partition.h"

namespace sluice::engine::kv {

/// Writes what is there at `now_s`. The file is complete, or not there, or what it was before: it
/// is written beside `path` (path + ".new"), synced and renamed. False: `error` says why. The
/// owners of the partitions must rest.
bool WriteSnapshot(const std::string& path, std::span<const Partition> partitions, uint32_t now_s,
                   std::string* error);

/// Sets all items of a file. `hash` tells the partition, of which there may be another number now,
/// and the place in it: HashOf with the store's secret, or, if clients are trusted to hash, what
/// they do. Items that are there already stay unless the file has their keys. Uniques to come are
/// greater than all that were given before. Nothing of a file that is not whole is set. False:
/// `error` says why; and how many items were set, if they did not all fit.
bool ReadSnapshot(const std::string& path, std::span<Partition> partitions,
                  const std::function<KeyHash(Bytes key)>& hash, uint32_t now_s,
                  std::string* error);

}  // namespace sluice::engine::kv
