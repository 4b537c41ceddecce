// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the time that a card's blocks spend in the phases of their turns. Turns without work are
// not measured.
#pragma once

#include <cstdint>

#include "device/grid/card.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

/// Measures the phases of one turn. Used by all threads of a block.
class Phases {
 public:
  Phases(Card& card, const Team& team, Phase first) : card_(card), team_(team), phase_(first) {
    team_.Lead([&] { begin_ = Cycles(); });
  }
  /// Ends the current phase and begins `next`.
  void Next(Phase next) {
    End();
    phase_ = next;
  }
  void End() {
    team_.Lead([&] {
      const uint64_t now = Cycles();
      Add(&card_.counters[phase_], now - begin_);
      begin_ = now;
    });
  }

 private:
  Card& card_;
  const Team& team_;
  Phase phase_;
  uint64_t begin_ = 0;
};

}  // namespace sluice::device::grid
