// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/nic_drops.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/counter_rows.h"
#include "device/enso/counters.h"
#include "emulator/wire_counters.h"
#include "net_enso/enso_counters.h"
#include "net_ipu/ipu_counters.h"
#include "regs/ipu.h"

namespace sluice::runtime {

namespace {

using base::Dropped;

struct Ending {
  std::string xstat;
  std::string name;
  Dropped at;
};
using Endings = std::vector<Ending>;

/// Appends the rows that count drops. In the port's statistics, their names have the prefix
/// `prefix`.
template <typename Rows>
void AddDrops(const std::string& prefix, const Rows& rows, Endings* endings) {
  // Reports omit the prefix of device counters, but not that of wire counters.
  const std::string shown = prefix == "model_" ? "" : prefix;
  for (const auto& row : rows) {
    const std::string xstat = prefix + row.name;
    if (row.at == Dropped::kNowhere || std::ranges::count(*endings, xstat, &Ending::xstat) != 0) {
      continue;  // Two devices, or two drivers, may have the same counter.
    }
    endings->push_back({xstat, shown + row.name, row.at});
  }
}

/// Drop statistics for models, their drivers and their wires.
const Endings& ModelEndings() {
  static const Endings all = [] {
    Endings endings;
    AddDrops("model_", regs::ipu::kStatisticRows, &endings);
    AddDrops("", net_ipu::kDriverRows, &endings);
    AddDrops("", net_ipu::kLinkCounters, &endings);
    AddDrops("", net_ipu::kLineCounters, &endings);
    AddDrops("model_", device::enso::kEventRows, &endings);
    AddDrops("", net_enso::DriverDrops::kRows, &endings);
    AddDrops("wire_", emulator::FaultCounters::kRows, &endings);
    AddDrops("wire_", emulator::PortCounters::kRows, &endings);
    AddDrops("wire_", emulator::LoopbackCounters::kRows, &endings);
    AddDrops("wire_", emulator::CableCounters::kRows, &endings);
    return endings;
  }();
  return all;
}

/// Drop statistics for any port: the names that rte_eth_xstats_get uses for members of
/// rte_eth_stats.
const Endings& PlainEndings() {
  static const Endings all{{"rx_missed_errors", "imissed", Dropped::kNic},
                           {"rx_errors", "ierrors", Dropped::kNic},
                           {"tx_errors", "oerrors", Dropped::kHost}};
  return all;
}
constexpr std::string_view kNoMbuf = "rx_mbuf_allocation_errors";

}  // namespace

uint64_t NicDrops::Sum() const {
  uint64_t sum = 0;
  for (const auto& [name, frames] : by_name) sum += frames;
  return sum;
}

NicDrops NicDropsSince(const PortStats& begin, const PortStats& now) {
  const auto grown = [&](std::string_view xstat) {
    const uint64_t before = begin.Get(xstat);
    const uint64_t after = now.Get(xstat);
    return after > before ? after - before : 0;
  };
  NicDrops drops;
  for (const Ending& ending : now.IsModel() ? ModelEndings() : PlainEndings()) {
    if (!now.values().contains(ending.xstat)) continue;
    const uint64_t frames = grown(ending.xstat);
    drops.by_name.emplace_back(ending.name, frames);
    if (ending.at == Dropped::kHost) drops.in_host += frames;
    if (ending.at == Dropped::kNic) drops.on_the_way += frames;
  }
  drops.no_mbuf = grown(kNoMbuf);
  return drops;
}

}  // namespace sluice::runtime
