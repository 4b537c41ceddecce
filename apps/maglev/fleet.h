// SPDX-License-Identifier: BSD-3-Clause
//
// The workers' balancers as control threads see them: their counters and connections, added up.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/maglev/balancer.h"
#include "engine/maglev/tables.h"
#include "runtime/published.h"

namespace sluice::maglev {

/// All workers' figures. Figures by index into the tables that were in force when they were
/// counted; indices are stable while their owners are (tables.h).
struct FleetCounters {
  std::array<uint64_t, engine::maglev::BalancerCounters::kEvents> events{};
  std::vector<engine::maglev::Traffic> by_vip;
  std::vector<engine::maglev::Traffic> by_backend;
};

class Fleet {
 public:
  /// `cycles_per_second`: of the time that `now` counts.
  Fleet(uint64_t cycles_per_second, std::function<uint64_t()> now)
      : cycles_per_second_(cycles_per_second), now_(std::move(now)) {}

  // Any control thread, while workers run:

  /// Counters of the first `vips` and `backends` indices.
  FleetCounters Count(size_t vips, size_t backends) const;
  /// These indices have new owners: their traffic counts from now on.
  void Restart(const std::vector<uint16_t>& vips, const std::vector<uint16_t>& backends);
  /// Live connections of the first `backends` indices. Returns the number of all. Walks the
  /// tables: for questions, not for every second.
  uint64_t CountConnections(size_t backends, std::vector<uint32_t>* by_backend) const;

 private:
  friend class Worker;
  void Add(const engine::maglev::Balancer& balancer);
  void Remove(const engine::maglev::Balancer& balancer);
  FleetCounters Sum(size_t vips, size_t backends) const;

  uint64_t cycles_per_second_;
  std::function<uint64_t()> now_;
  mutable std::mutex mutex_;
  std::vector<const engine::maglev::Balancer*> balancers_;
  /// What earlier owners of an index had.
  std::map<uint16_t, engine::maglev::Traffic> earlier_vips_, earlier_backends_;
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
