// SPDX-License-Identifier: BSD-3-Clause
//
// A snapshot that a separate thread writes while the owners of the partitions serve requests. It
// copies the index chain by chain, as any reader would, and retries a chain that its owner changed
// meanwhile.
//
// Each item in the file is complete and was in the store at some moment during the snapshot. Each
// chain is copied as of one moment, but different chains as of different moments. So an item that
// was in the store throughout the snapshot is in the file once, and an item that was added or
// removed during it may be in the file. The file is an image of the store at one moment only if
// there were no writes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "engine/kv/chain_copy.h"
#include "engine/kv/partition.h"

namespace sluice::engine::kv {

struct LiveSource {
  std::span<const Partition> partitions;
  std::function<uint32_t()> now_s;  ///< Returns the time of the items' clock in seconds.
  /// Asks the owner of partition `partition` to copy one of its chains (ChainRequest), and waits
  /// for the result. Returns nullopt if the owner no longer answers.
  std::function<std::optional<Copied>(size_t partition, uint32_t chain, std::span<uint8_t> to,
                                      size_t* bytes)>
      by_owner;
  std::function<bool()> stopped;  ///< Returns whether the snapshot was cancelled.
  /// Number of attempts to copy a chain before its owner is asked to copy it.
  uint32_t tries = 100;
};

struct LiveFigures {
  uint64_t items = 0;
  uint64_t by_owner = 0;  ///< Requests for chains that owners answered.
};

/// Maximum number of bytes that an owner copies at a time. The snapshot's thread copies a longer
/// chain without the owner, and fails if no attempt succeeds for kLongestTryS seconds.
inline constexpr size_t kMostByOwnerBytes = size_t{256} << 10;
inline constexpr uint32_t kLongestTryS = 10;

/// CAS numbers (`unique`) that the store assigns between a live snapshot and a crash are not in the
/// file. A restored store therefore skips this many numbers, more than any store assigns in that
/// time.
inline constexpr uint64_t kUniquesAhead = uint64_t{1} << 44;

/// Writes the file as WriteSnapshot does: an existing file is kept until the new one is complete.
/// Returns false with the reason in `error`, which is empty if the snapshot was cancelled.
bool WriteLiveSnapshot(const std::string& path, const LiveSource& source, LiveFigures* figures,
                       std::string* error);

}  // namespace sluice::engine::kv
