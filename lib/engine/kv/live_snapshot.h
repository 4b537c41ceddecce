// SPDX-License-Identifier: BSD-3-Clause
//
// A snapshot of partitions whose owners serve meanwhile, by a thread of its own. It goes through
// the index chain by chain and copies each as any reader would, trying again when the owner was at
// it.
//
// Each item of the file is what the store held under its key at one moment between the beginning
// and the end of the snapshot, whole: a chain is copied as it was at one moment, chains one after
// another. So what was there all the time, is in the file once; what came or went meanwhile, may
// be. There is no moment at which the store was as the file is, unless nobody wrote.
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
  std::function<uint32_t()> now_s;  ///< Of the items' clock.
  /// Has the owner of partition number `partition` copy a chain of it (ChainRequest), and waits for
  /// that. Nothing: nobody answers any more.
  std::function<std::optional<Copied>(size_t partition, uint32_t chain, std::span<uint8_t> to,
                                      size_t* bytes)>
      by_owner;
  std::function<bool()> stopped;  ///< The snapshot is not wanted any more.
  /// How often a chain is tried before its owner is asked.
  uint32_t tries = 100;
};

struct LiveFigures {
  uint64_t items = 0;
  uint64_t by_owner = 0;  ///< Chains that owners copied.
};

/// The most that an owner copies at a time. A longer chain is tried for kLongestTryS.
inline constexpr size_t kMostByOwnerBytes = size_t{256} << 10;
inline constexpr uint32_t kLongestTryS = 10;

/// Uniques that are given between a live snapshot and a crash are not in the file: those of a store
/// that is read from it begin so many above, which none lives to give meanwhile.
inline constexpr uint64_t kUniquesAhead = uint64_t{1} << 44;

/// Writes the file, or leaves what was there, as WriteSnapshot does. False: `error` says why; it is
/// empty if the snapshot was stopped.
bool WriteLiveSnapshot(const std::string& path, const LiveSource& source, LiveFigures* figures,
                       std::string* error);

}  // namespace sluice::engine::kv
