// SPDX-License-Identifier: BSD-3-Clause
//
// Bursts of frames in memory that record the frames that an engine reads.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/workload/random.h"
#include "packet/burst.h"
#include "traffic.h"

namespace sluice::engine::telemetry::test {

/// Generates `count` frames of 60 to 200 bytes that belong to `flows` flows; one frame in eight is
/// ARP.
class MixedFrames {
 public:
  MixedFrames(uint32_t count, uint32_t flows, uint64_t seed) : bytes_(count) {
    engine::workload::Random random(seed);
    for (Buffer& buffer : bytes_) {
      const auto flow = static_cast<uint32_t>(random.Below(flows));
      const std::array<uint8_t, kFrameBytes> frame = FrameOf(flow);
      std::copy(frame.begin(), frame.end(), buffer.begin());
      if (random.Below(8) == 0) buffer[13] = 0x06;
      const auto length = static_cast<uint32_t>(60 + random.Below(141));
      frames_.push_back({buffer.data(), length, 0, 0});
      flows_.push_back(buffer[13] == 0x06 ? kNoFlow : flow);
    }
  }
  static constexpr uint32_t kNoFlow = ~0u;

  std::span<const packet::Frame> frames() const { return frames_; }
  /// Returns the flow of each frame.
  std::span<const uint32_t> flows() const { return flows_; }

 private:
  using Buffer = std::array<uint8_t, 200>;
  std::vector<Buffer> bytes_;
  std::vector<packet::Frame> frames_;
  std::vector<uint32_t> flows_;
};

/// A packet::Burst of some of the frames. Each read of a frame appends the frame's address to
/// `read_frames`.
class RecordingBurst {
 public:
  RecordingBurst(std::span<const packet::Frame> frames, std::vector<const uint8_t*>& read_frames)
      : frames_(frames), read_frames_(read_frames) {}

  uint32_t size() const { return static_cast<uint32_t>(frames_.size()); }
  packet::BurstTotals totals() const {
    packet::BurstTotals totals;
    for (const packet::Frame& frame : frames_) totals.Add(frame.length);
    return totals;
  }
  packet::Frame At(uint32_t number) const {
    read_frames_.push_back(frames_[number].data);
    return frames_[number];
  }
  uint8_t* spare() const { return nullptr; }
  void Answer(uint32_t, const packet::Frame&, packet::Verdict) { FAIL() << "all are forwarded"; }

 private:
  std::span<const packet::Frame> frames_;
  std::vector<const uint8_t*>& read_frames_;
};
static_assert(packet::Burst<RecordingBurst>);

/// Passes all frames to the engine in bursts of random sizes up to `most`. Returns the addresses of
/// the frames that the engine read.
template <typename Engine>
std::vector<const uint8_t*> InBursts(Engine& engine, std::span<const packet::Frame> frames,
                                     uint64_t most, uint64_t seed) {
  engine::workload::Random random(seed);
  std::vector<const uint8_t*> read_frames;
  while (!frames.empty()) {
    const size_t count = std::min<size_t>(random.Below(most + 1), frames.size());
    RecordingBurst burst(frames.first(count), read_frames);
    engine.ProcessBurst(burst, 0);
    frames = frames.subspan(count);
  }
  return read_frames;
}

}  // namespace sluice::engine::telemetry::test
