// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that hold for each contract between a queue and an engine: frame by frame, bursts of which
// each frame is answered, and bursts of which only some are.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "nic/frame_queue.h"
#include "packet/burst.h"
#include "packet/frame.h"

namespace sluice::nic_test {

enum class Contract { kFrames, kBursts, kSparing };

/// A FrameEngine that sees bursts and answers only the frames that it must: those that it wrote to
/// or that do not leave.
template <nic::FrameEngine Engine>
class Sparing {
 public:
  explicit Sparing(Engine& engine) : engine_(engine) {}

  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t now) {
    for (uint32_t number = 0; number < burst.size(); ++number) {
      const packet::Frame came = burst.At(number);
      const std::vector<uint8_t> bytes(came.data, came.data + came.length);
      packet::Frame frame = came;
      frame.spare = burst.spare();
      const packet::Verdict verdict = engine_.Process(frame, now);
      if (verdict != packet::kForward || frame.data != came.data || frame.length != came.length ||
          !std::equal(bytes.begin(), bytes.end(), frame.data)) {
        burst.Answer(number, frame, verdict);
      }
    }
  }
  void set_outbox(packet::Outbox outbox) requires packet::Sender<Engine> {
    engine_.set_outbox(outbox);
  }

 private:
  Engine& engine_;
};

/// Calls use(engine) with what works by this contract.
template <typename Engine, typename Use>
auto By(Contract contract, Engine& engine, Use use) {
  if (contract == Contract::kFrames) return use(engine);
  if (contract == Contract::kBursts) {
    nic::FrameByFrame bursts(engine);
    return use(bursts);
  }
  Sparing bursts(engine);
  return use(bursts);
}

/// Polls at time 0 for an engine that works frame by frame, by this contract.
template <typename Queue, typename Engine>
uint32_t PollBy(Contract contract, Queue& queue, Engine& engine) {
  return By(contract, engine, [&](auto& worker) { return queue.Poll(worker, 0); });
}

/// A parameter of a test.
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
