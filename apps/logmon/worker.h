// SPDX-License-Identifier: BSD-3-Clause
//
// The engine of a worker lcore: a monitor, preceded by the responder for neighbor requests.
#pragma once

#include <cstdint>
#include <utility>

#include "batch.h"
#include "engine/logmon/monitor.h"
#include "engine/neighbor/neighbor.h"
#include "packet/engine.h"
#include "packet/own_addresses.h"
#include "recorder.h"
#include "runtime/handover.h"

namespace sluice::logmon {

class Worker final
    : public packet::EngineLayer<engine::WithNeighbor<engine::logmon::Monitor<Recorder>>> {
 public:
  Worker(const packet::OwnAddresses& own, const engine::logmon::RuleSet& rules,
         const engine::logmon::MonitorOptions& options, Recorder recorder,
         runtime::Handover<Batch>& batches, uint64_t seed)
      : EngineLayer(
            [&] { return Inner(own, std::in_place, rules, options, std::move(recorder), seed); }),
        batches_(batches) {}
  Worker(const Worker&) = delete;

  void AtRest(uint64_t now) override {
    now_ = now;
    EngineLayer::AtRest(now);
    Settle();
    batches_.AtRest();
  }
  void Leave() override {
    EngineLayer::Leave();
    monitor().Finish(now_);
    Settle();
    batches_.Leave();
  }

 private:
  engine::logmon::Monitor<Recorder>& monitor() { return engine_.engine(); }
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
};

}  // namespace sluice::logmon
