// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the cost of a cable in TSC cycles per frame: sending, receiving and both. Everything
// runs on one core, so no cache line moves between cores. Reports the best of many short samples.
// Run by hand: bench_cable.
#include <rte_cycles.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <vector>

#include "emulator/cable_lane.h"

namespace {

using namespace sluice;

constexpr uint32_t kBurst = 64;
constexpr int kSamples = 4000;

struct Cycles {
  double send = std::numeric_limits<double>::max();
  double receive = std::numeric_limits<double>::max();
};

Cycles Measure(uint32_t length) {
  const std::unique_ptr<emulator::CableLane> lane(new emulator::CableLane());
  emulator::CableSender sender(*lane);
  const auto receiver = std::make_unique<emulator::CableReceiver>(*lane);
  std::vector<uint8_t> bytes(kBurst * 2048, 1);
  std::vector<device::WireFrame> frames;
  for (uint32_t i = 0; i < kBurst; ++i) frames.push_back({&bytes[i * 2048], length});
  Cycles best;
  uint64_t sum = 0;
  for (int i = 0; i < kSamples; ++i) {
    const uint64_t begin = rte_rdtsc();
    sender.Send(frames);
    const uint64_t sent = rte_rdtsc();
    for (uint32_t got = 0; got < kBurst;) {
      const auto pulled = receiver->Pull(256);
      for (const device::WireFrame& frame : pulled) sum += frame.length + *frame.data;
      got += static_cast<uint32_t>(pulled.size());
      receiver->Consumed(static_cast<uint32_t>(pulled.size()));
    }
    const uint64_t received = rte_rdtsc();
    best.send = std::min(best.send, static_cast<double>(sent - begin) / kBurst);
    best.receive = std::min(best.receive, static_cast<double>(received - sent) / kBurst);
  }
  const uint64_t all = uint64_t{kSamples} * kBurst * (length + 1);
  if (sum != all) std::fprintf(stderr, "frames are missing\n");
  return best;
}

}  // namespace

int main() {
  std::printf("%-24s %8s %8s\n", "frame (cycles)", "send", "receive");
  for (const uint32_t length : {60u, 124u, 508u, 1514u}) {
    const Cycles cycles = Measure(length);
    std::printf("%-24u %8.1f %8.1f\n", length + 4, cycles.send, cycles.receive);
  }
  return 0;
}
