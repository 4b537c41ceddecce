// SPDX-License-Identifier: BSD-3-Clause
//
// All that is reported about one epoch of all workers: what exporters write.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/telemetry/flow_record.h"
#include "engine/telemetry/key_spec.h"

namespace sluice::engine::telemetry {

/// The estimates of the flows that the oracle counted exactly, beside the truth. Only flows of
/// `kLeastPackets` and more enter the errors: of fewer packets a relative error says nothing.
struct OracleReport {
  static constexpr uint64_t kLeastPackets = 100;

  uint64_t flows = 0;              ///< Counted exactly.
  uint64_t refused_pkts = 0;       ///< Of flows that were chosen when there was no room for them.
  uint64_t compared_flows = 0;     ///< Of kLeastPackets and more.
  double mean_relative_error = 0;  ///< Of their packets.
  double max_relative_error = 0;
  double mean_relative_bound = 0;  ///< What was promised about them.
  uint64_t beyond_bound = 0;       ///< Flows whose error exceeds their bound.
};

/// Of the table of flows that are counted packet by packet, of all workers together.
struct TableReport {
  bool complete = true;     ///< It had room: all packets with a key were counted there.
  uint64_t flows = 0;       ///< That it counted any packet of.
  uint64_t flows_left = 0;  ///< Of them: those that left for the sketch when it was closed.
  uint64_t pkts = 0;        ///< That it counted.
};

/// What one KeySpec saw.
struct KeyReport {
  KeySpec spec;
  std::optional<TableReport> table;  ///< kAlwaysCorrect, Setup::exact_flows > 0.
  /// At most Setup::top_k, the largest first, each with at least Setup::heavy_hitter_share of
  /// all packets.
  std::vector<FlowRecord> heavy_hitters;
  /// Flows whose packets changed by at least Setup::change_share of all packets of this epoch
  /// and the one before, and by more than the bound; the largest change first. Empty unless the
  /// epoch before was reported, too, and took as long, give or take a tenth.
  std::vector<FlowChange> changes;
  std::optional<Range> distinct_flows;  ///< Setup::levels > 1.
  /// Of packets over flows, in bits: Σ f/N · log2(N/f). Setup::levels > 1.
  std::optional<Range> entropy;
  std::optional<OracleReport> oracle;  ///< Setup::oracle_one_in > 0.
};

/// One epoch, all workers together.
struct EpochReport {
  uint64_t number = 0;    ///< Epochs between the clock's 0 and its start. Rises.
  uint64_t start_ns = 0;  ///< On the clock that Meter::Process is given, from its 0.
  uint64_t end_ns = 0;
  uint32_t workers = 0;  ///< That this epoch is merged from.
  Traffic total;         ///< All frames; exact.
  Estimate other_pkts;   ///< Frames that no key was read from: not IP, or malformed.
  /// Probability that a packet updates a row of a sketch; 1: every packet was counted. The
  /// least of the epoch, and at its end, over all workers.
  double least_probability = 1;
  double last_probability = 1;
  uint64_t exact_pkts = 0;      ///< Of total.pkts: seen while all tables were open, or p was 1.
  uint64_t memory_bytes = 0;    ///< Of the counters of all workers, both buffers of each.
  std::vector<KeyReport> keys;  ///< In the order of Setup::keys.
};

}  // namespace sluice::engine::telemetry
