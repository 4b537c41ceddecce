// SPDX-License-Identifier: BSD-3-Clause
//
// Exact counts of some flows, chosen by their hash: what estimates are measured against.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "engine/telemetry/flow_record.h"
#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

class Oracle {
 public:
  using Counts = absl::flat_hash_map<packet::FlowKey, Traffic>;

  /// One flow of `one_in` is chosen, none if that is 0. Room for `capacity` of them.
  Oracle(uint32_t one_in, uint32_t capacity, uint64_t seed);

  bool enabled() const { return one_in_ != 0; }
  /// True of the same hashes in all oracles of one seed.
  bool Chooses(uint64_t hash) const {
    return (packet::FoldProduct(hash ^ seed_, kFactor) >> 32) * one_in_ >> 32 == 0;
  }
  /// A packet of a chosen flow. Allocates nothing. A flow that comes when there is no room is
  /// refused for good, so that what is counted is counted from its first packet on.
  void Count(const packet::FlowKey& key, uint32_t bytes);

  const Counts& counts() const { return counts_; }
  uint32_t capacity() const { return capacity_; }
  uint64_t refused_pkts() const { return refused_pkts_; }

  void Clear();
  /// Makes the counts those of another oracle of the same parameters.
  void Restore(Counts counts, uint64_t refused_pkts) {
    counts_ = std::move(counts);
    refused_pkts_ = refused_pkts;
  }
  /// Adds the counts of another oracle of the same parameters. Flows that one of them may have
  /// refused are left out.
  void Merge(const Oracle& other);
  uint64_t bytes() const;

 private:
  static constexpr uint64_t kFactor = 0xd6e8feb86659fd93;  // Odd, of no pattern.

  uint32_t one_in_;
  uint32_t capacity_;
  uint64_t seed_;
  uint64_t refused_pkts_ = 0;
  Counts counts_;
};

}  // namespace sluice::engine::telemetry
