// SPDX-License-Identifier: BSD-3-Clause
//
// The engines of a worker lcore. Worker observes frames: it is a monitor, preceded by the responder
// for neighbor requests. SyslogWorker serves TCP connections: it is a syslog server.
#pragma once

#include <cstdint>
#include <utility>

#include "batch.h"
#include "engine/logmon/monitor.h"
#include "engine/logmon/syslog_server.h"
#include "engine/neighbor/neighbor.h"
#include "packet/byte_stream.h"
#include "packet/engine.h"
#include "packet/own_addresses.h"
#include "recorder.h"
#include "runtime/handover.h"

namespace sluice::logmon {

/// Stores the totals of a worker's engine, a Monitor or a SyslogServer, in the current batch.
template <typename Engine>
void Settle(Engine& engine, runtime::Handover<Batch>& batches, uint64_t now) {
  Recorder& recorder = engine.sink();
  const engine::logmon::ScanCounters scan = engine.scan_counters();
  recorder.AtRest(now, scan.lines);
  WorkerFigures& figures = batches.filling().figures;
  figures.scan = scan;
  figures.sources = engine.counters();
  figures.known_sources = engine.sources();
  figures.state_bytes = engine.memory_bytes() + engine.scanner().unfinished_bytes();
  figures.shown_lines = recorder.shown_lines();
  figures.lost_lines = recorder.lost_lines();
  figures.lost_hosts = recorder.lost_hosts();
}

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
    Settle(monitor(), batches_, now_);
    batches_.AtRest();
  }
  void Leave() override {
    EngineLayer::Leave();
    monitor().Finish(now_);
    Settle(monitor(), batches_, now_);
    batches_.Leave();
  }

 private:
  engine::logmon::Monitor<Recorder>& monitor() { return engine_.engine(); }

  runtime::Handover<Batch>& batches_;
  uint64_t now_ = 0;
};

class SyslogWorker final : public packet::StreamEngine {
  using Server = engine::logmon::SyslogServer<Recorder>;

 public:
  using Connection = Server::Connection;

  SyslogWorker(const engine::logmon::RuleSet& rules, const engine::logmon::MonitorOptions& options,
               Recorder recorder, runtime::Handover<Batch>& batches)
      : server_(rules, options.scan, options.session_cycles, std::move(recorder)),
        batches_(batches) {}

  bool Accept(Connection& connection, const packet::StreamPeer& peer, uint64_t now) {
    return server_.Accept(connection, peer, now);
  }
  void Process(Connection& connection, packet::StreamTurn& turn, uint64_t now) {
    server_.Process(connection, turn, now);
  }
  void Closed(Connection& connection, bool complete, uint64_t now) {
    server_.Closed(connection, complete, now);
  }
  void AtRest(uint64_t now) override {
    Settle(server_, batches_, now);
    batches_.AtRest();
  }
  void Leave(uint64_t now) override {
    Settle(server_, batches_, now);
    batches_.Leave();
  }

 private:
  Server server_;
  runtime::Handover<Batch>& batches_;
};

}  // namespace sluice::logmon
