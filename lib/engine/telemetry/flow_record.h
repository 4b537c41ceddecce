// SPDX-License-Identifier: BSD-3-Clause
//
// What is said about one flow of an epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

/// A number that was estimated: the truth lies in [value - bound, value + bound] with the
/// probability Setup::confidence at least. A bound of 0: exact.
struct Estimate {
  double value = 0;
  double bound = 0;
};

/// A number that was estimated, with bounds that are not symmetric: low ≤ value ≤ high, and the
/// truth lies in [low, high] with the probability Setup::confidence at least.
struct Range {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Packets and bytes. Bytes are those of frames without FCS.
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

/// What counted a flow: the table of ExactFlows, from the epoch's start to its end, so that bounds
/// are 0; a sketch; or the table until it was closed, and then a sketch.
enum class CountedBy : uint8_t { kTable, kSketch, kBoth };
/// "table", "sketch", "both".
std::string_view NameOf(CountedBy counted_by);

/// One flow of one epoch. `key` is as KeySpec::Of makes it.
struct FlowRecord {
  packet::FlowKey key;
  Estimate packets;
  Estimate bytes;
  std::optional<Traffic> exact;  ///< The truth, if the oracle chose this flow.
  CountedBy counted_by = CountedBy::kSketch;
};

/// A flow whose packets of this epoch and of the one before it differ.
struct FlowChange {
  packet::FlowKey key;
  double packets_before = 0;
  double packets_now = 0;
  Estimate difference;  ///< packets_now - packets_before.
};

}  // namespace sluice::engine::telemetry
