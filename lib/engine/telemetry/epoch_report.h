// SPDX-License-Identifier: BSD-3-Clause
//
// The report of one epoch, for all workers together, which exporters write.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/telemetry/flow_record.h"
#include "engine/telemetry/key_spec.h"

namespace sluice::engine::telemetry {

/// Errors of the estimates, measured on the flows that the oracle counted exactly. Only flows of at
/// least `kLeastPackets` packets are compared, because relative errors of smaller flows are
/// meaningless.
struct OracleReport {
  static constexpr uint64_t kLeastPackets = 100;

  uint64_t flows = 0;              ///< Flows counted exactly.
  uint64_t refused_pkts = 0;       ///< Packets of chosen flows that did not fit into the oracle.
  uint64_t compared_flows = 0;     ///< Flows of at least kLeastPackets packets.
  double mean_relative_error = 0;  ///< Mean of |estimate - true packets| / true packets.
  double max_relative_error = 0;
  double mean_relative_bound = 0;  ///< Mean of bound / true packets.
  uint64_t beyond_bound = 0;       ///< Flows whose error exceeds the bound.
};

/// Totals over the tables (ExactFlows) of all workers.
struct TableReport {
  bool complete = true;     ///< Every table had room, so all packets with a key were counted.
  uint64_t flows = 0;       ///< Flows of which the tables counted at least one packet.
  uint64_t flows_left = 0;  ///< Flows that moved to the sketch when a table was closed.
  uint64_t pkts = 0;        ///< Packets that the tables counted.
};

/// Results of one KeySpec.
struct KeyReport {
  KeySpec spec;
  std::optional<TableReport> table;  ///< Set for kAlwaysCorrect with Setup::exact_flows > 0.
  /// The largest flows, at most Setup::top_k, sorted by size. Each has at least
  /// Setup::heavy_hitter_share of all packets.
  std::vector<FlowRecord> heavy_hitters;
  /// Flows whose packet count changed by at least Setup::change_share of all packets of this and
  /// the previous epoch, and by more than the bound. At most Setup::top_k flows, largest change
  /// first. Empty unless the previous epoch was reported and its duration differs by at most a
  /// tenth.
  std::vector<FlowChange> changes;
  std::optional<Range> distinct_flows;  ///< Set if Setup::levels > 1.
  /// Entropy, in bits, of the distribution of the N packets over the flows, where a flow has f
  /// packets: Σ f/N · log2(N/f). Set if Setup::levels > 1.
  std::optional<Range> entropy;
  std::optional<OracleReport> oracle;  ///< Set if Setup::oracle_one_in > 0.
};

/// Report of one epoch, for all workers together.
struct EpochReport {
  uint64_t number = 0;  ///< Number of epochs from the clock's 0 to this epoch; increases.
  /// Start on the clock of the meters (Meter::AtRest), in ns since the clock's 0.
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint32_t workers = 0;  ///< Number of merged workers.
  Traffic total;         ///< All frames; exact.
  Estimate other_pkts;   ///< Frames without a key: not IP, or malformed.
  /// Probability with which a packet updates a row of a sketch: the minimum during the epoch, and
  /// the value at its end. Both are minima over all workers. 1 means that every packet was counted.
  double least_probability = 1;
  double last_probability = 1;
  /// Packets counted exactly, while all tables were open or the probability was 1.
  uint64_t exact_pkts = 0;
  /// Size in bytes of all workers' counters. Each worker has two buffers.
  uint64_t memory_bytes = 0;
  std::vector<KeyReport> keys;  ///< Ordered like Setup::keys.
};

}  // namespace sluice::engine::telemetry
