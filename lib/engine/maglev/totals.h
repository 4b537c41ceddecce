// SPDX-License-Identifier: BSD-3-Clause
//
// Sums the counters of several balancers that use the same tables, by index into the current
// tables. When an index gets a new owner, its traffic is counted from this change on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/maglev/balancer.h"
#include "engine/maglev/counters.h"
#include "engine/maglev/tables.h"

namespace sluice::engine::maglev {

/// Sums over all balancers.
struct BalancerTotals {
  std::array<uint64_t, BalancerCounters::kEvents> events{};
  std::vector<Traffic> by_vip;
  std::vector<Traffic> by_backend;
};

/// Indices that have another owner in the next tables.
struct NewOwners {
  std::vector<uint16_t> vips;
  std::vector<uint16_t> backends;

  bool empty() const { return vips.empty() && backends.empty(); }
  static NewOwners Of(const Tables& before, const Tables& next);
};

/// Sums traffic by the current owner of each index. May be used by one thread at a time, even while
/// balancers run.
class TrafficByOwner {
 public:
  using Balancers = std::span<const Balancer* const>;

  /// Returns the totals of all VIPs with an index below `vips` and all backends with an index below
  /// `backends`.
  BalancerTotals Count(Balancers balancers, size_t vips, size_t backends) const;
  /// Starts the counts of `owners` at 0. All balancers must have loaded the tables with these
  /// owners.
  void Restart(Balancers balancers, const NewOwners& owners);

 private:
  /// Traffic of earlier owners of an index.
  std::map<uint16_t, Traffic> earlier_vips_, earlier_backends_;
};

}  // namespace sluice::engine::maglev
