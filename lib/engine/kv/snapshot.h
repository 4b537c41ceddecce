// SPDX-License-Identifier: BSD-3-Clause
//
// Saves all items of a store in a file, for a warm restart. All numbers are little-endian:
//
//   header    "SLUICEKV", u32 version 1, u32 0
//   block     u32 bytes of records, u32 records, u64 XXH3 of the records, seeded with the number
//             of the block (0, 1, …) so that missing and moved blocks are detected
//   record    u32 value bytes << 8 | key bytes, u32 flags, u32 seconds to live (0: no expiry),
//             u32 0, u64 unique (not 0), key, value
//   end       a block with 0 records that contains two u64: number of items of all blocks, and the
//             last unique that was assigned, at most 2^63 and not below any item's. The file ends
//             here.
//
// The seconds to live do not decrease while an item is in the file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "engine/kv/hash.h"
#include "engine/kv/partition.h"

namespace sluice::engine::kv {

/// Writes the items that exist at `now_s`. The file is written to path + ".new", synced and renamed
/// to `path`, so `path` is either complete or unchanged. Returns false with the reason in `error`.
/// The owners of the partitions must be at rest.
bool WriteSnapshot(const std::string& path, std::span<const Partition> partitions, uint32_t now_s,
                   std::string* error);

/// Restores all items of a file. `hash` returns the hashes of a key: HashOf with the store's
/// secret, or the client's hash if clients are trusted. The number of partitions may differ from
/// that of the writer. Existing items are kept unless the file contains their keys. Uniques that
/// are assigned later are greater than all those in the file. If any part of the file is invalid,
/// no item is restored. Returns false with the reason in `error`; if only some items fit, the
/// reason contains their number.
bool ReadSnapshot(const std::string& path, std::span<Partition> partitions,
                  const std::function<KeyHash(Bytes key)>& hash, uint32_t now_s,
                  std::string* error);

}  // namespace sluice::engine::kv
