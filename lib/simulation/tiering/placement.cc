// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/tiering/placement.h"

#include <algorithm>

namespace sluice::simulation::tiering {

Moves Place(std::vector<PageRate>& pages, const PlacementGoal& goal) {
  std::sort(pages.begin(), pages.end(), [](const PageRate& a, const PageRate& b) {
    return a.rate != b.rate ? a.rate > b.rate : a.page < b.page;
  });
  size_t hot = pages.size();
  double outside = 0;
  while (hot != 0 && outside + pages[hot - 1].rate <= goal.slow_rate) {
    outside += pages[--hot].rate;
  }
  hot = std::min<size_t>(hot, goal.fast_capacity);
  const float threshold = hot == 0 ? 0 : pages[hot - 1].rate;

  Moves moves;
  uint32_t left = goal.max_moves;
  uint32_t room = goal.fast_capacity - std::min(goal.fast_used, goal.fast_capacity);
  // Candidates for demotion have the indices `hot` to `cold` - 1. The coldest has the highest
  // index.
  size_t cold = pages.size();
  const auto coldest = [&]() -> const PageRate* {
    while (cold > hot && (!pages[cold - 1].fast || pages[cold - 1].fixed)) --cold;
    return cold > hot ? &pages[cold - 1] : nullptr;
  };
  for (size_t i = 0; goal.fill && i != hot && left != 0; ++i) {
    const PageRate& page = pages[i];
    if (page.fast || page.fixed) continue;
    if (room != 0) {
      --room;
    } else {
      const PageRate* leaving = coldest();
      if (leaving == nullptr || page.rate < leaving->rate * goal.advantage) break;
      moves.demote.push_back(leaving->page);
      --cold;
      --left;
    }
    moves.promote.push_back(page.page);
    left -= left != 0;
  }
  // Demotes gradually, so that the next round can show whether this was right.
  if (goal.shrink) left = std::min(left, goal.fast_used / 8);
  while (goal.shrink && left != 0) {
    const PageRate* leaving = coldest();
    if (leaving == nullptr || leaving->rate * 2 > threshold) break;
    moves.demote.push_back(leaving->page);
    --cold;
    --left;
  }
  std::sort(moves.demote.begin(), moves.demote.end());
  std::sort(moves.promote.begin(), moves.promote.end());
  return moves;
}

}  // namespace sluice::simulation::tiering
