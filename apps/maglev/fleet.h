// SPDX-License-Identifier: BSD-3-Clause
//
// The workers' balancers as control threads see them: their counters and connections, added up.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/maglev/balancer.h"
#include "engine/maglev/tables.h"
#include "engine/maglev/totals.h"
#include "runtime/published.h"

namespace sluice::maglev {

class Fleet {
 public:
  /// `cycles_per_second`: of the time that `now` counts.
  Fleet(uint64_t cycles_per_second, std::function<uint64_t()> now)
      : cycles_per_second_(cycles_per_second), now_(std::move(now)) {}

  // Any control thread, while workers run:

  /// Counters of the first `vips` and `backends` indices.
  engine::maglev::BalancerTotals Count(size_t vips, size_t backends) const;
  /// Traffic of these indices counts from now on.
  void Restart(const engine::maglev::NewOwners& owners);
  /// Live connections of the first `backends` indices. Returns the number of all. Walks the
  /// tables: for questions, not for every second.
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

/// What a worker lcore runs. Is part of the fleet while it lives.
class Worker : public runtime::WithTables<engine::maglev::Balancer, engine::maglev::Tables> {
 public:
  /// `seed`: secret key of its connection table.
  Worker(Fleet& fleet, runtime::Published<engine::maglev::Tables>& tables, uint32_t worker,
         uint64_t seed)
      : WithTables(tables, worker, seed, fleet.cycles_per_second_), fleet_(fleet) {
    fleet_.Add(engine());
  }
  ~Worker() { fleet_.Remove(engine()); }

 private:
  Fleet& fleet_;
};

}  // namespace sluice::maglev
