// SPDX-License-Identifier: BSD-3-Clause
//
// Gives control threads access to the workers' balancers: sums of their counters and connections.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/maglev/balancer.h"
#include "engine/maglev/tables.h"
#include "engine/maglev/totals.h"
#include "packet/engine.h"
#include "runtime/published.h"

namespace sluice::maglev {

class Fleet {
 public:
  /// `cycles_per_second`: frequency of the clock `now`.
  Fleet(uint64_t cycles_per_second, std::function<uint64_t()> now)
      : cycles_per_second_(cycles_per_second), now_(std::move(now)) {}

  // Any control thread may call the following functions while workers run.

  /// Returns the counters of all VIPs with an index below `vips` and all backends with an index
  /// below `backends`.
  engine::maglev::BalancerTotals Count(size_t vips, size_t backends) const;
  /// Restarts the traffic counters of these indices from 0.
  void Restart(const engine::maglev::NewOwners& owners);
  /// Counts the live connections of each backend with an index below `backends`. Returns the total
  /// number of live connections. Walks the tables, so do not call it periodically.
  uint64_t CountConnections(size_t backends, std::vector<uint32_t>* by_backend) const;

 private:
  friend class Worker;
  void Add(const engine::maglev::Balancer& balancer);
  void Remove(const engine::maglev::Balancer& balancer);

  uint64_t cycles_per_second_;
  std::function<uint64_t()> now_;
  mutable std::mutex mutex_;
  std::vector<const engine::maglev::Balancer*> balancers_;
  engine::maglev::TrafficByOwner traffic_;
};

/// The engine of a worker lcore. It is part of the fleet for as long as it exists.
class Worker final : public packet::EngineLayer<
                         runtime::WithTables<engine::maglev::Balancer, engine::maglev::Tables>> {
 public:
  /// `seed`: secret key of the connection table.
  Worker(Fleet& fleet, runtime::Published<engine::maglev::Tables>& tables, uint32_t worker,
         uint64_t seed)
      : EngineLayer([&] { return Inner(tables, worker, seed, fleet.cycles_per_second_); }),
        fleet_(fleet) {
    fleet_.Add(balancer());
  }
  ~Worker() { fleet_.Remove(balancer()); }

  const engine::maglev::Balancer& balancer() const { return engine_.engine(); }

 private:
  Fleet& fleet_;
};

}  // namespace sluice::maglev
