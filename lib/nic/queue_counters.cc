// SPDX-License-Identifier: BSD-3-Clause
//
// Sums and copies queue counters for reports. Used on the control path.
#include "nic/queue_counters.h"

#include <numeric>

namespace sluice::nic {

namespace {

/// Calls `f` with each total of `to` and the same total of `from`.
template <typename F>
void ForEach(QueueCounters& to, const QueueCounters& from, F f) {
  for (const QueueCounter& counter : kQueueCounters) f(to.*counter.member, from.*counter.member);
  for (uint32_t i = 0; i < QueueCounters::kMaxReasons; ++i) {
    f(to.engine_drops[i], from.engine_drops[i]);
  }
}

}  // namespace

QueueCounters QueueCounters::Snapshot() const {
  QueueCounters copy;
  ForEach(copy, *this, [](uint64_t& to, const uint64_t& from) { to = Load(from); });
  return copy;
}

QueueCounters& QueueCounters::operator+=(const QueueCounters& other) {
  ForEach(*this, other, [](uint64_t& to, const uint64_t& from) { to += from; });
  return *this;
}

uint64_t QueueCounters::DroppedPkts() const {
  uint64_t dropped = std::accumulate(std::begin(engine_drops), std::end(engine_drops), uint64_t{0});
  for (const QueueCounter& counter : kQueueCounters) {
    if (counter.drop) dropped += this->*counter.member;
  }
  return dropped;
}

}  // namespace sluice::nic
