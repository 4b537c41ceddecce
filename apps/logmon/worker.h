// SPDX-License-Identifier: BSD-3-Clause
//
// The engine of a worker lcore: a monitor, preceded by the responder for neighbor requests.
#pragma once

#include <cstdint>
#include <utility>

#include "batch.h"
#include "engine/logmon/monitor.h"
#include "engine/neighbor/neighbor.h"
#include "packet/burst.h"
#include "packet/own_addresses.h"
#include "recorder.h"
#include "runtime/handover.h"

namespace sluice::logmon {

class Worker {
 public:
  using Monitor = engine::logmon::Monitor<Recorder>;
  using Engine = engine::WithNeighbor<Monitor>;
  static constexpr auto& kDropReasons = Engine::kDropReasons;

  Worker(const packet::OwnAddresses& own, const engine::logmon::RuleSet& rules,
         const engine::logmon::MonitorOptions& options, Recorder recorder,
         runtime::Handover<Batch>& batches, uint64_t seed)
      : batches_(batches), engine_(own, std::in_place, rules, options, std::move(recorder), seed) {}
  Worker(const Worker&) = delete;

  const packet::OwnAddresses& own() const { return engine_.own(); }
  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t now) {
    engine_.ProcessBurst(burst, now);
  }
  void AtRest(uint64_t now) {
    now_ = now;
    engine_.AtRest(now);
    Settle();
    batches_.AtRest();
  }
  void Leave() {
    monitor().Finish(now_);
    Settle();
    batches_.Leave();
  }

 private:
  Monitor& monitor() { return engine_.engine(); }
  /// Stores the worker's totals in the current batch.
  void Settle() {
    Recorder& recorder = monitor().sink();
    const engine::logmon::ScanCounters scan = monitor().scan_counters();
    recorder.AtRest(now_, scan.lines);
    WorkerFigures& figures = batches_.filling().figures;
    figures.scan = scan;
    figures.sources = monitor().counters();
    figures.known_sources = monitor().sources();
    figures.state_bytes = monitor().memory_bytes() + monitor().scanner().unfinished_bytes();
    figures.shown_lines = recorder.shown_lines();
    figures.lost_lines = recorder.lost_lines();
    figures.lost_hosts = recorder.lost_hosts();
  }

  runtime::Handover<Batch>& batches_;
  uint64_t now_ = 0;
  Engine engine_;
};

}  // namespace sluice::logmon
