// SPDX-License-Identifier: BSD-3-Clause
//
// The requests of a simulated host, from arrival to completion. Workers are tasks that serve one
// request at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "engine/sched/abi.h"
#include "fabric/picoseconds.h"
#include "simulation/random.h"

namespace sluice::simulation {

class Workload {
 public:
  struct Worker {
    engine::sched::Gtid gtid = engine::sched::kNoTask;
    bool serving = false;
    fabric::Picoseconds arrived = 0;
    fabric::Picoseconds remaining = 0;  ///< Remaining service time.
  };

  Workload(const ServiceTime& service, uint32_t workers, uint64_t seed)
      : service_(service), random_(seed), workers_(workers) {
    // Workers with low numbers serve first.
    for (uint32_t worker = workers; worker-- > 0;) free_.push_back(worker);
  }

  /// Sets the worker's task to `gtid`.
  void Name(uint32_t worker, engine::sched::Gtid gtid) {
    names_.erase(workers_[worker].gtid);
    workers_[worker].gtid = gtid;
    names_[gtid] = worker;
  }
  uint32_t WorkerOf(engine::sched::Gtid gtid) const { return names_.at(gtid); }
  Worker& worker(uint32_t number) { return workers_[number]; }
  uint32_t workers() const { return static_cast<uint32_t>(workers_.size()); }

  void Arrive(fabric::Picoseconds now) {
    waiting_.push_back(now);
    ++arrived_;
  }
  bool CanBegin() const { return !waiting_.empty() && !free_.empty(); }
  /// Assigns the oldest request to an idle worker and returns the worker. CanBegin() must be true.
  uint32_t Begin() {
    const uint32_t number = free_.back();
    free_.pop_back();
    Worker& worker = workers_[number];
    worker.serving = true;
    worker.arrived = waiting_.front();
    waiting_.pop_front();
    worker.remaining = service_.Draw(random_);
    return number;
  }
  void Complete(uint32_t number) {
    workers_[number].serving = false;
    free_.push_back(number);
    ++completed_;
  }

  uint64_t arrived() const { return arrived_; }
  uint64_t completed() const { return completed_; }
  /// Returns whether every request is waiting, being served, or done.
  bool Conserved() const {
    uint64_t serving = 0;
    for (const Worker& worker : workers_) serving += worker.serving;
    return arrived_ == completed_ + waiting_.size() + serving &&
           free_.size() + serving == workers_.size();
  }

 private:
  ServiceTime service_;
  Random random_;
  std::vector<Worker> workers_;
  std::vector<uint32_t> free_;
  std::deque<fabric::Picoseconds> waiting_;  ///< Arrival times.
  std::unordered_map<engine::sched::Gtid, uint32_t> names_;
  uint64_t arrived_ = 0;
  uint64_t completed_ = 0;
};

}  // namespace sluice::simulation
