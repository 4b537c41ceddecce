// SPDX-License-Identifier: BSD-3-Clause
//
// A barrier of N parties in virtual time: in each round, every party works, arrives, and learns
// whether the round committed. Party 0 runs on the NIC's processor and collects the arrivals; every
// other party is a host processor with one pair of lines. There are two protocols:
//
//   swap        the swap among N parties (swap/group.h), the code that also runs in real time
//   time-out    arrivals and releases as one-way messages. The collector aborts a round if a party
//               did not arrive within the time-out after the first arrival, and a party aborts it
//               if it was not released within the time-out after its arrival. Nothing is undone
//
// Faults occur at the same times with both protocols: pauses, as on a busy host, and kills, after
// which the party's process restarts and continues from its memory.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/costs.h"
#include "fabric/link.h"
#include "fabric/picoseconds.h"

namespace sluice::simulation {

/// Pauses of a processor, which form a Poisson process. Their lengths follow a Pareto distribution,
/// capped at `longest`.
struct Pauses {
  double per_second = 0;
  fabric::Picoseconds shortest = 10'000'000;
  fabric::Picoseconds longest = 30'000'000'000;
  double exponent = 1;

  /// Returns the length of a pause for a uniform number in [0, 1).
  fabric::Picoseconds Length(double uniform) const;
  /// Returns the number of pauses per second that are longer than `window`, which is the rate of
  /// false suspicions by a watchdog with this window.
  double PerSecondAbove(fabric::Picoseconds window) const;
};

struct BarrierParameters {
  uint32_t parties = 8;  ///< 2 to 4096.
  uint32_t rounds = 1000;
  /// Mean time that a party works, which is uniformly distributed in [0.5, 1.5] times the mean.
  fabric::Picoseconds work = 100'000'000;
  Pauses pauses;                ///< Pauses of each party.
  double kills_per_second = 0;  ///< Kills of each party per second, as a Poisson process.
  fabric::Picoseconds restart = 1'000'000'000;  ///< Time from a kill until the party resumes.
  fabric::Picoseconds timeout = 0;              ///< 0 for the swap, else for the time-out protocol.
  uint64_t seed = 1;  ///< At least 1: with 0, work and faults would have equal numbers.
  fabric::LinkParameters link;
  fabric::Costs costs;
};

struct BarrierResults {
  uint64_t committed = 0;  ///< Rounds that all parties believe have committed.
  uint64_t lost = 0;       ///< Rounds that no party believes has committed.
  uint64_t split = 0;      ///< Rounds that only some parties believe have committed.
  uint64_t kills = 0;
  uint64_t pauses = 0;
  fabric::Picoseconds elapsed = 0;
  /// Durations of rounds, each from the end of the previous round at the last party; ascending.
  std::vector<fabric::Picoseconds> times;
};

/// Runs the rounds. Throws std::runtime_error if they do not end. Equal parameters give equal
/// results.
BarrierResults RunBarrier(const BarrierParameters& parameters);

}  // namespace sluice::simulation
