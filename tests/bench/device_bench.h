// SPDX-License-Identifier: BSD-3-Clause
//
// Common parts of the benchmarks of NIC models: a source of frames, a sink that reads each sent
// frame as a wire does, the loop over bursts, and medians.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "device/device.h"

namespace sluice::device::bench {

class Sink final : public FrameSink {
 public:
  void Deliver(std::span<const WireFrame> frames) override {
    for (const WireFrame& frame : frames) sum += frame.data[frame.length - 1];
    count += frames.size();
  }
  uint64_t count = 0, sum = 0;
};

/// A cyclic source of TCP/IPv4 frames.
class Arrivals {
 public:
  /// `bytes` is the length of each frame; 0 selects random lengths of 60 … 1514. Flows differ in
  /// their source address.
  Arrivals(uint32_t bytes, uint32_t flows)
      : burst_(bytes != 0 && bytes < 1000 ? kMostBurst : kMostBurst / 4) {
    std::mt19937 random(1);
    source_.resize(kFrames * kRoom);
    uint8_t* frame = source_.data();
    for (uint32_t i = 0; i < kFrames; ++i) {
      const uint32_t length = bytes != 0 ? bytes : 60 + random() % 1455;
      const uint32_t flow = random() % flows;
      frame[12] = 8;
      frame[14] = 0x45;
      frame[16] = static_cast<uint8_t>((length - 14) >> 8);
      frame[17] = static_cast<uint8_t>(length - 14);
      frame[23] = 6;
      std::memcpy(frame + 26, &flow, sizeof(flow));
      frames_.push_back({frame, length});
      frame += (length + 63) / 64 * 64;
    }
  }

  /// Returns the next burst() frames.
  std::span<const WireFrame> Next() {
    const auto frames = std::span(frames_).subspan(next_, burst_);
    next_ = (next_ + burst_) % kFrames;
    return frames;
  }
  uint32_t burst() const { return burst_; }

 private:
  static constexpr uint32_t kFrames = 512;  ///< Small, so that the wire's memory stays cached.
  static constexpr uint32_t kRoom = 1536;
  static constexpr uint32_t kMostBurst = 256;  ///< Maximum burst of lib/emulator.
  static_assert(kFrames % kMostBurst == 0);

  const uint32_t burst_;
  std::vector<uint8_t> source_;  ///< The frames, each aligned to a cache line.
  std::vector<WireFrame> frames_;
  uint32_t next_ = 0;
};

inline double Median(std::vector<uint64_t>& cycles) {
  if (cycles.empty()) return 0;
  const auto middle = cycles.begin() + static_cast<std::ptrdiff_t>(cycles.size() / 2);
  std::nth_element(cycles.begin(), middle, cycles.end());
  return static_cast<double>(*middle);
}

/// Constructs an Echo from the state and steps it once per iteration. Step() returns whether a
/// complete burst was echoed. burst() is the burst size; sink, rx_cycles and tx_cycles contain the
/// results.
template <typename Echo>
void MeasureEcho(benchmark::State& state) {
  Echo echo(state);
  for (auto _ : state) {
    if (!echo.Step()) {
      state.SkipWithError("a burst was not echoed whole");
      break;
    }
  }
  state.counters["rx_cycles"] = Median(echo.rx_cycles) / echo.burst();
  state.counters["tx_cycles"] = Median(echo.tx_cycles) / echo.burst();
  state.SetItemsProcessed(static_cast<int64_t>(echo.sink.count));
}

}  // namespace sluice::device::bench
