// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that hold for both contracts between a queue and an engine: frame by frame, and bursts.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "nic/frame_queue.h"

namespace sluice::nic_test {

enum class Contract { kFrames, kBursts };

/// Polls at time 0 for an engine that works frame by frame, by this contract.
template <typename Queue, typename Engine>
uint32_t PollBy(Contract contract, Queue& queue, Engine& engine) {
  if (contract == Contract::kFrames) return queue.Poll(engine, 0);
  nic::FrameByFrame bursts(engine);
  return queue.Poll(bursts, 0);
}

/// A parameter of a test.
class ByContract : public testing::WithParamInterface<Contract> {
 protected:
  template <typename Queue, typename Engine>
  static uint32_t Poll(Queue& queue, Engine& engine) {
    return PollBy(GetParam(), queue, engine);
  }
};

inline const auto kContracts = testing::Values(Contract::kFrames, Contract::kBursts);
inline std::string NameOf(const testing::TestParamInfo<Contract>& info) {
  return info.param == Contract::kFrames ? "frames" : "bursts";
}

}  // namespace sluice::nic_test
