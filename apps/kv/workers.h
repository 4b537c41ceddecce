// SPDX-License-Identifier: BSD-3-Clause
//
// The workers of sluice-kv, as the main thread sees them: their counters and those of their
// partitions, added up.
#pragma once

#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/kv/server.h"
#include "engine/neighbor/neighbor.h"
#include "handoff_rings.h"
#include "runtime/port_stats.h"

namespace sluice::kv {

using Engine = engine::WithNeighbor<engine::kv::Server<RingHandoffQueue>>;

class Workers {
 public:
  explicit Workers(const engine::kv::Store& store);

  /// One line a period: requests a second, share of gets that found something, items; and what
  /// a client behind a model NIC says in the port's statistics.
  std::string NextLine(const runtime::PortStats& port);
  /// Adds "store", "mica", "memcached" and "workers" to a report.
  void Extend(nlohmann::ordered_json& report) const;

 private:
  friend class Worker;
  void Add(const engine::kv::Responder& responder);
  /// Its counters are kept.
  void Remove(const engine::kv::Responder& responder);
  engine::kv::ResponderCounters Sum() const;

  const engine::kv::Store& store_;
  mutable std::mutex mutex_;
  std::vector<const engine::kv::Responder*> responders_;
  engine::kv::ResponderCounters gone_;
  engine::kv::ResponderCounters last_;  ///< At the last line.
  double last_s_ = 0;
};

/// What a worker lcore runs. Its counters are among those of `workers`, also after its end.
class Worker {
 public:
  static constexpr auto& kDropReasons = Engine::kDropReasons;

  Worker(Workers& workers, Engine engine);
  ~Worker() { workers_.Remove(engine_.engine().responder()); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void set_outbox(packet::Outbox outbox) { engine_.set_outbox(outbox); }
  void AtRest(uint64_t now) { engine_.AtRest(now); }
  void Prepare(const uint8_t* frame, uint32_t length) { engine_.Prepare(frame, length); }
  packet::Verdict Process(packet::Frame& frame, uint64_t now) {
    return engine_.Process(frame, now);
  }

 private:
  Workers& workers_;
  Engine engine_;
};

}  // namespace sluice::kv
