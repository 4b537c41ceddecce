// SPDX-License-Identifier: BSD-3-Clause
//
// Which pages should change their tier, from how often each is accessed.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tiering/abi.h"

namespace sluice::engine::tiering {

struct PageRate {
  float rate = 0;  ///< Accesses per tick, estimated.
  Vpn page = 0;
  bool fast = false;
  bool fixed = false;  ///< Changed since it was last scanned: a migration would be refused.
};

struct PlacementGoal {
  uint32_t fast_capacity = 0;
  uint32_t fast_used = 0;
  /// Accesses per tick that pages outside the fast tier may have; what is hot beyond that stays
  /// out. Counted from the coldest page: estimates of rare accesses are the ones that can be right.
  double slow_rate = 0;
  bool fill = true;    ///< Promote. Else what is in the fast tier suffices.
  bool shrink = true;  ///< Demote what is cold though there is room.
  /// A page goes where another has to leave only if it is that much hotter.
  float advantage = 1.25f;
  uint32_t max_moves = 0;  ///< Pages.
};

/// Pages to move, of each kind in the order of their numbers. Demotions come first, and make room.
struct Moves {
  std::vector<Vpn> demote;
  std::vector<Vpn> promote;
};

/// Sorts `pages`.
Moves Place(std::vector<PageRate>& pages, const PlacementGoal& goal);

}  // namespace sluice::engine::tiering
