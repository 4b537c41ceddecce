// SPDX-License-Identifier: BSD-3-Clause
//
// Selects the pages that should move to the other tier, based on their access rates.
#pragma once

#include <cstdint>
#include <vector>

#include "simulation/tiering/abi.h"

namespace sluice::simulation::tiering {

struct PageRate {
  float rate = 0;  ///< Estimated accesses per tick.
  Vpn page = 0;
  bool fast = false;
  /// The page must stay, because a migration was done or refused since its last scan, so another
  /// would be refused.
  bool fixed = false;
};

struct PlacementGoal {
  uint32_t fast_capacity = 0;
  uint32_t fast_used = 0;
  /// Maximum total rate of all pages outside the fast tier, in accesses per tick. Rates are summed
  /// from the coldest page on, because estimates of rare accesses are the most accurate. The
  /// remaining, hotter pages belong in the fast tier.
  double slow_rate = 0;
  bool fill = true;    ///< Whether pages may be promoted; false if the fast share suffices.
  bool shrink = true;  ///< Whether cold pages are demoted even if there is room.
  /// A page replaces another page only if its rate is higher by at least this factor.
  float advantage = 1.25f;
  /// Maximum number of pages to move. An exchange at the limit exceeds it by 1.
  uint32_t max_moves = 0;
};

/// Pages to move. Both lists are sorted by page number. Demotions must be applied first, because
/// promotions need the room that they free.
struct Moves {
  std::vector<Vpn> demote;
  std::vector<Vpn> promote;
};

/// Selects the pages to move. Reorders `pages`.
Moves Place(std::vector<PageRate>& pages, const PlacementGoal& goal);

}  // namespace sluice::simulation::tiering
