// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a test with each contract between a queue and an engine: single frames, bursts of which all
// frames are answered, and bursts of which only some frames are answered.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "packet/burst.h"
#include "packet/engine.h"
#include "packet/frame.h"

namespace sluice::nic_test {

enum class Contract { kFrames, kBursts, kSparing };

/// Adapts a packet::FrameEngine to bursts. It answers only the frames that require it: those that
/// the engine has modified or does not forward.
template <packet::FrameEngine Engine>
class Sparing final : public packet::EngineLayer<Engine&> {
 public:
  explicit Sparing(Engine& engine)
      : packet::EngineLayer<Engine&>([&]() -> Engine& { return engine; }) {}

  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t now) {
    for (uint32_t number = 0; number < burst.size(); ++number) {
      const packet::Frame came = burst.At(number);
      const std::vector<uint8_t> bytes(came.data, came.data + came.length);
      packet::Frame frame = came;
      frame.spare = burst.spare();
      const packet::Verdict verdict = this->engine_.Process(frame, now);
      if (verdict != packet::kForward || frame.data != came.data || frame.length != came.length ||
          !std::equal(bytes.begin(), bytes.end(), frame.data)) {
        burst.Answer(number, frame, verdict);
      }
    }
  }
};

/// Calls use(engine) with an adapter that implements this contract.
template <typename Engine, typename Use>
auto By(Contract contract, Engine& engine, Use use) {
  if (contract == Contract::kFrames) return use(engine);
  if (contract == Contract::kBursts) {
    packet::FrameByFrame bursts(engine);
    return use(bursts);
  }
  Sparing bursts(engine);
  return use(bursts);
}

/// Polls at time 0 with an engine for single frames that is adapted to this contract.
template <typename Queue, typename Engine>
uint32_t PollBy(Contract contract, Queue& queue, Engine& engine) {
  return By(contract, engine, [&](auto& worker) { return queue.Poll(worker, 0); });
}

/// Base class for tests that are parameterized by a contract.
class ByContract : public testing::WithParamInterface<Contract> {
 protected:
  template <typename Queue, typename Engine>
  static uint32_t Poll(Queue& queue, Engine& engine) {
    return PollBy(GetParam(), queue, engine);
  }
};

inline const auto kContracts =
    testing::Values(Contract::kFrames, Contract::kBursts, Contract::kSparing);
inline std::string NameOf(const testing::TestParamInfo<Contract>& info) {
  return info.param == Contract::kFrames   ? "frames"
         : info.param == Contract::kBursts ? "bursts"
                                           : "sparing";
}

}  // namespace sluice::nic_test
