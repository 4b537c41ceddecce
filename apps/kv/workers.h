// SPDX-License-Identifier: BSD-3-Clause
//
// The workers of sluice-kv, as the main thread and telemetry see them: what they and their
// partitions have counted.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/kv/server.h"
#include "engine/neighbor/neighbor.h"
#include "handoff_rings.h"
#include "runtime/port_stats.h"

namespace sluice::kv {

/// What a worker lcore runs.
using Engine = engine::WithNeighbor<engine::kv::Server<RingHandoffQueue>>;

class Workers {
 public:
  /// `store` outlives it.
  explicit Workers(const engine::kv::Store& store);

  /// One line a period: requests a second, share of gets that found something, items; and what
  /// a client behind a model NIC says in the port's statistics. Main thread.
  std::string NextLine(const runtime::PortStats& port);
  /// Adds "store", "mica", "memcached" and "workers" to a report. Any thread.
  void Extend(nlohmann::ordered_json& report) const;

 private:
  const engine::kv::Store& store_;
  engine::kv::ResponderCounters last_;  ///< At the last line.
  double last_s_ = 0;
};

}  // namespace sluice::kv
