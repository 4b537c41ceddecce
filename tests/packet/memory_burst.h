// SPDX-License-Identifier: BSD-3-Clause
//
// A burst of frames in memory, each in a buffer of exactly its size. Records the outcome of each
// frame.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "packet/burst.h"
#include "packet/fixtures.h"

namespace sluice::test {

class MemoryBurst {
 public:
  explicit MemoryBurst(std::span<const Bytes> frames) : verdicts_(frames.size(), packet::kForward) {
    for (const Bytes& bytes : frames) {
      const ExactBuffer& buffer = buffers_.emplace_back(bytes);
      frames_.push_back({buffer.data(), buffer.size(), 0, 0});
    }
  }

  uint32_t size() const { return static_cast<uint32_t>(frames_.size()); }
  packet::BurstTotals totals() const {
    packet::BurstTotals totals;
    for (const packet::Frame& frame : frames_) totals.Add(frame.length);
    return totals;
  }
  packet::Frame At(uint32_t number) const { return frames_.at(number); }
  uint8_t* spare() const { return nullptr; }
  void Answer(uint32_t number, const packet::Frame& frame, packet::Verdict verdict) {
    EXPECT_GE(number, answered_) << "each once, in the order of numbers";
    answered_ = number + 1;
    frames_.at(number) = frame;
    verdicts_.at(number) = verdict;
  }

  /// Returns the verdict of each frame; kForward where the engine did not answer.
  const std::vector<packet::Verdict>& verdicts() const { return verdicts_; }
  Bytes bytes(uint32_t number) const {
    const packet::Frame& frame = frames_.at(number);
    return Bytes(frame.data, frame.data + frame.length);
  }

 private:
  std::vector<ExactBuffer> buffers_;
  std::vector<packet::Frame> frames_;
  std::vector<packet::Verdict> verdicts_;
  uint32_t answered_ = 0;
};
static_assert(packet::Burst<MemoryBurst>);

}  // namespace sluice::test
