// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/port_stats.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <vector>

namespace sluice::runtime {

std::mutex& PortCalls() {
  static std::mutex calls;
  return calls;
}

PortStats PortStats::Read(uint16_t port) {
  const std::scoped_lock lock(PortCalls());
  PortStats stats;
  const int count = rte_eth_xstats_get_names(port, nullptr, 0);
  if (count <= 0) return stats;
  std::vector<rte_eth_xstat_name> names(static_cast<size_t>(count));
  std::vector<rte_eth_xstat> values(static_cast<size_t>(count));
  const int named = rte_eth_xstats_get_names(port, names.data(), static_cast<unsigned>(count));
  const int read = rte_eth_xstats_get(port, values.data(), static_cast<unsigned>(count));
  if (named != count) return stats;
  for (int i = 0; i < std::min(read, count); ++i) {
    const uint64_t id = values[static_cast<size_t>(i)].id;
    if (id < names.size()) stats.values_[names[id].name] = values[static_cast<size_t>(i)].value;
  }
  return stats;
}

uint64_t PortStats::Get(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? 0 : found->second;
}

}  // namespace sluice::runtime
