// SPDX-License-Identifier: BSD-3-Clause
//
// What several balancers on the same tables have counted, added up. By index into the tables that
// are in force: where a change gave an index to somebody else, its traffic counts from then on.
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

/// Figures of all balancers.
struct BalancerTotals {
  std::array<uint64_t, BalancerCounters::kEvents> events{};
  std::vector<Traffic> by_vip;
  std::vector<Traffic> by_backend;
};

/// Indices that belong to somebody else in the next tables.
struct NewOwners {
  std::vector<uint16_t> vips;
  std::vector<uint16_t> backends;

  bool empty() const { return vips.empty() && backends.empty(); }
  static NewOwners Of(const Tables& before, const Tables& next);
};

/// One thread at a time, while balancers work.
class TrafficByOwner {
 public:
  using Balancers = std::span<const Balancer* const>;

  /// Of the first `vips` and `backends` indices.
  BalancerTotals Count(Balancers balancers, size_t vips, size_t backends) const;
  /// All balancers have taken up the tables in which these are the owners.
  void Restart(Balancers balancers, const NewOwners& owners);

 private:
  /// What earlier owners of an index had.
  std::map<uint16_t, Traffic> earlier_vips_, earlier_backends_;
};

}  // namespace sluice::engine::maglev
