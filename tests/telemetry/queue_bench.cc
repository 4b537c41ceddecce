// SPDX-License-Identifier: BSD-3-Clause
//
// Measures sluice-telemetry's worker with each kind of queue (nic/queue_bench.h). The flows have a
// Zipf distribution. The setup has p = 0.01, the 100 largest flows, and one key.
#include "../nic/queue_bench.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/telemetry/meter.h"
#include "engine/workload/popularity.h"
#include "packet/bytes.h"
#include "traffic.h"
#include "worker.h"

using namespace sluice;  // NOLINT

int main(int argc, char** argv) {
  const auto options = nic_test::QueueBenchOptions::Parse(argc, argv);
  if (!options) return 2;
  const engine::workload::Popularity popularity(200'000, 1);
  engine::workload::Random random(1);
  std::vector<uint8_t> frame(options->size);
  const auto next = [&]() -> std::span<const uint8_t> {
    const auto flow = static_cast<uint32_t>(popularity.Draw(random));
    const auto head = engine::telemetry::test::FrameOf(flow);
    std::copy(head.begin(), head.end(), frame.begin());
    packet::StoreBe16(&frame[16], static_cast<uint16_t>(frame.size() - 14));
    return frame;
  };
  engine::telemetry::Setup setup;
  setup.pace = engine::telemetry::Pace::kFixed;
  engine::telemetry::Meter meter(setup, 0, 1'000'000'000, 0);
  telemetry::Worker worker(meter);
  return nic_test::QueueBench(*options, worker, next).Run();
}
