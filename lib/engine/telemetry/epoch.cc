// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/epoch.h"

#include <algorithm>

namespace sluice::engine::telemetry {

Epoch::Epoch(const Setup& setup) : setup(setup) {
  counters.reserve(setup.keys.size());
  for (size_t i = 0; i < setup.keys.size(); ++i) counters.emplace_back(setup, i);
}

bool Epoch::AllOpen() const {
  return std::ranges::all_of(counters,
                             [](const FlowCounter& counter) { return counter.exact().open(); });
}

void Epoch::Clear() {
  number = start_cycles = end_cycles = exact_pkts = 0;
  workers = 1;
  total = {};
  other = 0;
  longest_bytes = 0;
  least_probability = last_probability = 1;
  for (FlowCounter& counter : counters) counter.Clear();
}

bool Epoch::Merge(const Epoch& more) {
  if (!(setup == more.setup)) return false;
  start_cycles = std::min(start_cycles, more.start_cycles);
  end_cycles = std::max(end_cycles, more.end_cycles);
  number = std::min(number, more.number);
  workers += more.workers;
  total += more.total;
  exact_pkts += more.exact_pkts;
  other += more.other;
  longest_bytes = std::max(longest_bytes, more.longest_bytes);
  least_probability = std::min(least_probability, more.least_probability);
  last_probability = std::min(last_probability, more.last_probability);
  for (size_t i = 0; i < counters.size(); ++i) counters[i].Merge(more.counters[i]);
  return true;
}

uint64_t Epoch::memory_bytes() const {
  uint64_t bytes = sizeof(*this);
  for (const FlowCounter& counter : counters) bytes += counter.bytes();
  return bytes;
}

}  // namespace sluice::engine::telemetry
