// SPDX-License-Identifier: BSD-3-Clause
//
// Counts a sample of flows, chosen by hash, exactly, as a reference for the estimates.
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

  /// Counts one in `one_in` flows, and at most `capacity` flows. A `one_in` of 0 disables the
  /// oracle.
  Oracle(uint32_t one_in, uint32_t capacity, uint64_t seed);

  bool enabled() const { return one_in_ != 0; }
  /// Returns whether the oracle counts flows with this hash. Oracles with the same seed choose the
  /// same hashes.
  bool Chooses(uint64_t hash) const {
    return (packet::FoldProduct(hash ^ seed_, kFactor) >> 32) * one_in_ >> 32 == 0;
  }
  /// Counts a packet of a chosen flow. Does not allocate. If a new flow does not fit, its packets
  /// are refused for the rest of the epoch, so that every counted flow is counted from its first
  /// packet.
  void Count(const packet::FlowKey& key, uint32_t bytes);

  const Counts& counts() const { return counts_; }
  uint32_t capacity() const { return capacity_; }
  uint64_t refused_pkts() const { return refused_pkts_; }

  void Clear();
  /// Sets the counts to those of another oracle with the same parameters.
  void Restore(Counts counts, uint64_t refused_pkts) {
    counts_ = std::move(counts);
    refused_pkts_ = refused_pkts;
  }
  /// Adds the counts of another oracle with the same parameters. Then removes flows that either
  /// oracle may have refused.
  void Merge(const Oracle& other);
  uint64_t bytes() const;

 private:
  static constexpr uint64_t kFactor = 0xd6e8feb86659fd93;  // An arbitrary odd constant.

  uint32_t one_in_;
  uint32_t capacity_;
  uint64_t seed_;
  uint64_t refused_pkts_ = 0;
  Counts counts_;
};

}  // namespace sluice::engine::telemetry
