// SPDX-License-Identifier: BSD-3-Clause
//
// Results about one flow of an epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

/// An estimate: the true value is in [value - bound, value + bound] with a probability of at least
/// Setup::confidence. A bound of 0 means exact.
struct Estimate {
  double value = 0;
  double bound = 0;
};

/// An estimate with asymmetric bounds: low ≤ value ≤ high, and the true value is in [low, high]
/// with a probability of at least Setup::confidence.
struct Range {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Counts of packets and bytes. The bytes are those of the frames, without FCS.
struct Traffic {
  uint64_t pkts = 0;
  uint64_t bytes = 0;

  friend bool operator==(Traffic, Traffic) = default;
  Traffic& operator+=(Traffic more) {
    pkts += more.pkts;
    bytes += more.bytes;
    return *this;
  }
};

/// Source of a flow's count.
/// - kTable: the table of ExactFlows during the whole epoch; bounds are 0.
/// - kSketch: the sketch.
/// - kBoth: the table until it was closed, and then the sketch.
enum class CountedBy : uint8_t { kTable, kSketch, kBoth };
/// Returns "table", "sketch" or "both".
std::string_view NameOf(CountedBy counted_by);

/// One flow of one epoch. `key` is made by KeySpec::Of.
struct FlowRecord {
  packet::FlowKey key;
  Estimate packets;
  Estimate bytes;
  std::optional<Traffic> exact;  ///< True counts, if the oracle chose this flow.
  CountedBy counted_by = CountedBy::kSketch;
};

/// A flow whose packet count differs between this epoch and the previous one.
struct FlowChange {
  packet::FlowKey key;
  double packets_before = 0;
  double packets_now = 0;
  Estimate difference;  ///< packets_now - packets_before.
};

}  // namespace sluice::engine::telemetry
