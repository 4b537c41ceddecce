// SPDX-License-Identifier: BSD-3-Clause
//
// Counters of the workers and partitions of sluice-kv, for the main thread and telemetry.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/kv/server.h"
#include "engine/neighbor/neighbor.h"
#include "handoff_rings.h"
#include "runtime/port_stats.h"

namespace sluice::kv {

/// The engine of a worker lcore.
using Engine = engine::WithNeighbor<engine::kv::Server<RingHandoffQueue>>;

class Workers {
 public:
  /// `store` must outlive the object.
  explicit Workers(const engine::kv::Store& store);

  /// Returns one line per period: requests per second, fraction of gets that found an item, number
  /// of items, and the statistics of a client at a model NIC, from the port's statistics. Called by
  /// the main thread.
  std::string NextLine(const runtime::PortStats& port);
  /// Adds "store", "mica", "memcached" and "workers" to a report. May be called by any thread.
  void Extend(nlohmann::ordered_json& report) const;

 private:
  const engine::kv::Store& store_;
  engine::kv::ResponderCounters last_;  ///< Values at the last line.
  double last_s_ = 0;
};

}  // namespace sluice::kv
