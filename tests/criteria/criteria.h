// SPDX-License-Identifier: BSD-3-Clause
//
// Experiments on the four criteria of Forward-In-Time-Only (FITO) systems. The production code of
// each interface, and of each channel to an agent, runs with clocks that no machine should have,
// with every timeout at both of its extremes, with conflicting decisions, and with requests to undo
// decisions.
//
// Source: Borrill, The Forward-In-Time-Only Assumption in SmartNIC Resource Management, 2026.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::criteria {

enum class Criterion : uint8_t { kClocks, kTimeouts, kConflicts, kUndo };
inline constexpr std::array<const char*, 4> kCriterionNames = {"clocks", "time-outs", "conflicts",
                                                               "undo"};

enum class Verdict : uint8_t {
  kFree,    ///< The criterion does not apply.
  kPartly,  ///< The criterion applies to progress but not to an outcome, or only after the commit
            ///< point.
  kFito,    ///< The criterion applies.
};
inline constexpr std::array<const char*, 3> kVerdictNames = {"free", "partly", "FITO"};

struct Cell {
  Criterion criterion;
  Verdict verdict;
  std::string trace;  ///< The observations from which the verdict follows.
};
struct Subject {
  const char* name;
  std::vector<Cell> cells;
};

/// Clocks of an experiment. At returns the time of a step in nanoseconds.
enum class Clock : uint8_t { kNormal, kFrozen, kBackwards, kJumping };
constexpr uint64_t At(Clock clock, uint64_t step) {
  constexpr uint64_t kBegin = 1'000'000'000'000, kStep = 1'000'000, kHour = 3'600'000'000'000;
  switch (clock) {
    case Clock::kNormal:
      return kBegin + step * kStep;
    case Clock::kFrozen:
      return kBegin;
    case Clock::kBackwards:
      return kBegin - step * kStep;
    case Clock::kJumping:
      return kBegin + step * kStep + (step % 3 == 1 ? kHour : 0);
  }
  return 0;
}

/// Calls `run(clock)` for each clock in order. Returns the text for the normal clock and every text
/// that differs from it. Sets `equal` if all texts are equal.
template <typename Run>
std::string UnderClocks(Run run, bool& equal) {
  constexpr std::array<const char*, 4> kNames = {"normal", "frozen", "backwards", "jumping"};
  const std::string normal = run(Clock::kNormal);
  std::string differences;
  for (const Clock clock : {Clock::kFrozen, Clock::kBackwards, Clock::kJumping}) {
    const std::string other = run(clock);
    if (other != normal) differences += "; " + std::string(kNames[size_t(clock)]) + ": " + other;
  }
  equal = differences.empty();
  return (equal ? "with all four clocks: " : "normal: ") + normal + differences;
}

Subject Packetized();
Subject Streaming();
Subject Bilateral();
Subject Coherent();
Subject GroupOfParties();
Subject WaveQueues();
Subject SwapChannel();

}  // namespace sluice::criteria
