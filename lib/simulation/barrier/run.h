// SPDX-License-Identifier: BSD-3-Clause
//
// Common part of both barrier protocols: processors, work, faults, and what the parties believe. A
// kill occurs between two runs of a party's code; the state explorations in tests/swap include
// kills between two stores.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "fabric/event_queue.h"
#include "fabric/window.h"
#include "simulation/barrier/barrier.h"
#include "simulation/random.h"

namespace sluice::simulation {

class BarrierRun {
 public:
  explicit BarrierRun(const BarrierParameters& parameters);
  virtual ~BarrierRun() = default;
  BarrierResults Run();

 protected:
  struct Party {
    Random random{0};       ///< Draws the party's work.
    uint64_t round = 0;     ///< The round in which the party is working or waiting.
    uint64_t believed = 0;  ///< The last round whose outcome the party knows.
    uint32_t life = 0;      ///< A change voids the party's pending actions of When.
    bool dead = false;
    bool finished = false;
  };

  /// Called when the party has finished its work for its round.
  virtual void Arrive(uint32_t party) = 0;
  /// Called when lines have arrived at the party.
  virtual void Hear(uint32_t party) = 0;
  /// Called when the party's process restarts with the memory of the killed one.
  virtual void Resume(uint32_t party) = 0;

  fabric::Cpu& CpuOf(uint32_t party) {
    return party == 0 ? static_cast<fabric::Cpu&>(pair_.nic()) : pair_.host(party - 1);
  }
  /// Starts the party's work for `round`.
  void Begin(uint32_t party, uint64_t round);
  /// Runs `action` on the party's processor at `time`, or later when the processor is free, unless
  /// the party is killed first.
  void When(uint32_t party, fabric::Picoseconds time, std::function<void()> action);
  /// Records which outcome the party believes. Repeated reports have no effect.
  void Believe(uint32_t party, uint64_t round, bool committed);

  const BarrierParameters parameters_;
  fabric::EventQueue queue_;
  fabric::WindowPair pair_;
  std::vector<Party> parties_;

 private:
  struct Round {
    uint32_t known = 0;
    uint32_t commits = 0;
  };

  /// A Poisson process of a party's pauses or kills.
  struct Faults {
    Random random;
    fabric::Picoseconds mean;  ///< Mean time between two faults.
    uint32_t party;
    bool kills;
  };

  void AddFaults(uint32_t party, bool kills, double per_second);
  void ScheduleFault(uint32_t index);
  void Kill(uint32_t party);

  std::vector<Round> rounds_;  ///< Indexed by round number, from 1.
  BarrierResults results_;
  fabric::Picoseconds ended_ = 0;  ///< When the last round ended at its last party.
  uint32_t finished_ = 0;          ///< Number of finished parties.
  std::vector<Faults> faults_;
  bool stopped_ = false;
};

std::unique_ptr<BarrierRun> MakeSwapBarrier(const BarrierParameters& parameters);
std::unique_ptr<BarrierRun> MakeTimeoutBarrier(const BarrierParameters& parameters);

}  // namespace sluice::simulation
