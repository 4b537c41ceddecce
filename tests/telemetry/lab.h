// SPDX-License-Identifier: BSD-3-Clause
//
// A meter, an analyst, and exact counts of all flows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "engine/telemetry/analyst.h"
#include "engine/telemetry/meter.h"
#include "engine/workload/popularity.h"
#include "traffic.h"

namespace sluice::engine::telemetry::test {

inline constexpr uint64_t kCyclesPerSecond = 1'000'000'000;  // Cycles are nanoseconds.
inline constexpr uint64_t kEpoch = 1'000'000'000;

class Lab {
 public:
  explicit Lab(const Setup& setup, uint32_t worker = 0)
      : meter(setup, worker, kCyclesPerSecond, 0), analyst(setup, kCyclesPerSecond) {}

  void Send(uint32_t flow, uint32_t times = 1) {
    auto bytes = FrameOf(flow);
    for (uint32_t i = 0; i < times; ++i) {
      packet::Frame frame{bytes.data(), kFrameBytes, 0, 0};
      packet::ProcessFrame(meter, frame, 0);
    }
    exact[flow] += times;
  }
  /// Sends `packets` packets of the flows 0 … flows - 1 with a Zipf distribution.
  void SendZipf(uint64_t packets, uint64_t flows, uint64_t seed) {
    const engine::workload::Popularity popularity(flows, 1);
    engine::workload::Random random(seed);
    for (uint64_t i = 0; i < packets; ++i) {
      Send(static_cast<uint32_t>(popularity.Draw(random)));
      if (i % 4096 == 0) meter.AtRest(now);
    }
  }
  /// Ends the epoch at the next multiple of its length and reports it.
  std::optional<EpochReport> EndEpoch() {
    now = (now / kEpoch + 1) * kEpoch;
    meter.AtRest(now);
    const Epoch* const epoch = meter.Closed();
    if (epoch == nullptr) return std::nullopt;
    auto report = analyst.Report({&epoch, 1});
    meter.Release();
    return report;
  }

  uint64_t now = 0;
  Meter meter;
  Analyst analyst;
  std::map<uint32_t, uint64_t> exact;  ///< Exact counts, indexed by flow.
};

inline uint32_t NumberOf(const packet::FlowKey& key) {
  return uint32_t{key.source[1]} << 16 | uint32_t{key.source[2]} << 8 | key.source[3];
}

}  // namespace sluice::engine::telemetry::test
