// SPDX-License-Identifier: BSD-3-Clause
#include "engine/sched/task_places.h"

#include <algorithm>
#include <bit>

namespace sluice::engine::sched {

TaskPlaces::TaskPlaces(uint32_t places)
    : places_(std::max<uint32_t>(places, 1)),
      index_bits_(std::bit_width(static_cast<uint32_t>(places_.size() - 1))) {
  for (uint32_t i = 0; i < places_.size(); ++i) {
    places_[i].task.gtid = i;  // Never used: Find() rejects this identifier.
    Append(free_, places_[i]);
  }
}

TaskPlaces::Place* TaskPlaces::Allocate() {
  if (free_.first == kNowhere) return nullptr;
  Place& place = places_[free_.first];
  Remove(free_, place);
  place.task = {.gtid = place.task.gtid + (Gtid{1} << index_bits_)};
  return &place;
}

}  // namespace sluice::engine::sched
