// SPDX-License-Identifier: BSD-3-Clause
#include "report.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::maglev {

namespace {

using engine::maglev::BackendSetup;
using engine::maglev::BalancerCounters;
using engine::maglev::BalancerTotals;
using engine::maglev::Printable;
using engine::maglev::Setup;
using engine::maglev::Tables;
using engine::maglev::Traffic;
using engine::maglev::Vip;
using engine::maglev::VipSetup;
using Json = nlohmann::ordered_json;

constexpr size_t kNamedOnLine = 8;  // Maximum number of VIPs on a line, and of backends per VIP.
// Maximum number of backends per telemetry answer, which has at most 16 KiB.
constexpr size_t kPerAnswer = 80;

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Maps names to indices: the setup uses names, counters use indices.
struct Indices {
  std::map<std::string, uint16_t> vips;
  std::map<std::pair<uint16_t, std::string>, uint16_t> backends;

  explicit Indices(const Tables& tables) {
    for (const Vip& vip : tables.vips()) {
      if (vip.in_use) vips[tables.VipName(vip.index)] = vip.index;
    }
    for (size_t i = 0; i < tables.backends().size(); ++i) {
      const auto index = static_cast<uint16_t>(i);
      if (const std::string& name = tables.BackendName(index); !name.empty()) {
        backends[{tables.backends()[i].vip, name}] = index;
      }
    }
  }
};

Json TrafficJson(const Traffic& traffic) {
  return {{"pkts", traffic.pkts}, {"bytes", traffic.bytes}};
}

Json BackendJson(const BackendSetup& backend, const Traffic& traffic, uint64_t vip_pkts,
                 uint64_t slots, uint64_t ring, uint32_t connections) {
  return {{"address", backend.address.ToString()},
          {"state", StateName(backend.state)},
          {"weight", backend.weight},
          {"pkts", traffic.pkts},
          {"bytes", traffic.bytes},
          {"share", Ratio(traffic.pkts, vip_pkts)},
          {"slots", Ratio(slots, ring)},
          {"connections", connections}};
}

// A consistent snapshot for reports.
struct View {
  Indices indices;
  BalancerTotals counters;
  std::vector<uint32_t> connections;
  uint64_t live;

  View(const Tables& tables, const Fleet& fleet)
      : indices(tables),
        counters(fleet.Count(tables.vips().size(), tables.backends().size())),
        live(fleet.CountConnections(tables.backends().size(), &connections)) {}

  Json Backends(const Tables& tables, const VipSetup& vip, size_t first, size_t most) const {
    const uint16_t index = indices.vips.at(vip.name);
    const std::vector<uint16_t>& ring = tables.vips()[index].ring;
    std::vector<uint32_t> slots(tables.backends().size());
    for (const uint16_t owner : ring) ++slots[owner];
    const uint64_t pkts = counters.by_vip[index].pkts;
    Json json = Json::object();
    for (size_t i = first; i < vip.backends.size() && i - first < most; ++i) {
      const uint16_t at = indices.backends.at({index, vip.backends[i].name});
      json[vip.backends[i].name] = BackendJson(vip.backends[i], counters.by_backend[at], pkts,
                                               slots[at], ring.size(), connections[at]);
    }
    return json;
  }
};

Json VipJson(const VipSetup& vip, const Traffic& traffic) {
  Json json = {{"address", vip.prefix().ToString()},
               {"port", vip.port},
               {"protocol", vip.protocol == 6 ? "tcp" : "udp"},
               {"encapsulation", EncapsulationName(vip.encapsulation)},
               {"failed_open", vip.failed_open}};
  json.update(TrafficJson(traffic));
  return json;
}

std::string Shares(const std::vector<std::pair<std::string, uint64_t>>& backends) {
  uint64_t total = 0;
  for (const auto& [name, pkts] : backends) total += pkts;
  std::string text;
  if (backends.size() <= kNamedOnLine) {
    for (const auto& [name, pkts] : backends) {
      absl::StrAppendFormat(&text, " %s %.1f%%", name, 100 * Ratio(pkts, total));
    }
    return text;
  }
  const auto pkts_of = [](const auto& backend) { return backend.second; };
  const auto [least, most] = std::ranges::minmax(backends, {}, pkts_of);
  return absl::StrFormat(" %d backends %.3f ... %.3f%%", backends.size(),
                         100 * Ratio(least.second, total), 100 * Ratio(most.second, total));
}

}  // namespace

std::string ShareLine::Next() {
  std::string line;
  control_.View([&](const Config&, const Tables& tables) {
    const BalancerTotals counters = fleet_.Count(tables.vips().size(), tables.backends().size());
    std::map<uint16_t, std::vector<std::pair<std::string, uint64_t>>> by_vip;
    for (size_t i = 0; i < tables.backends().size(); ++i) {
      const auto index = static_cast<uint16_t>(i);
      const uint64_t pkts = counters.by_backend[i].pkts;
      // The counter of an index with a new owner restarts from 0.
      const uint64_t before = std::min(std::exchange(last_[index], pkts), pkts);
      const std::string& name = tables.BackendName(index);
      if (!name.empty()) by_vip[tables.backends()[i].vip].emplace_back(name, pkts - before);
    }
    line = absl::StrFormat("  epoch %d", tables.epoch());
    size_t vips = 0;
    for (const auto& [vip, backends] : by_vip) {
      if (++vips > kNamedOnLine) break;
      line += "  " + tables.VipName(vip) + ":" + Shares(backends);
    }
    if (by_vip.size() > kNamedOnLine) {
      absl::StrAppendFormat(&line, "  and %d more VIPs", by_vip.size() - kNamedOnLine);
    }
  });
  return line;
}

void ExtendReport(const Control& control, const Fleet& fleet, Json& report) {
  control.View([&](const Config& config, const Tables& tables) {
    const View view(tables, fleet);
    report["epoch"] = tables.epoch();
    report["health_no_result"] = control.no_results();
    report["skipped_keys"] = Json::object();
    for (const auto& [key, line] : config.skipped) report["skipped_keys"][Printable(key)] = line;
    report["connections"] = view.live;
    report["events"] = Json::object();
    for (size_t i = 0; i < view.counters.events.size(); ++i) {
      report["events"][std::string(BalancerCounters::kNames[i])] = view.counters.events[i];
    }
    report["vips"] = Json::object();
    for (const VipSetup& vip : tables.setup().vips) {
      Json json = VipJson(vip, view.counters.by_vip[view.indices.vips.at(vip.name)]);
      json["backends"] = view.Backends(tables, vip, 0, vip.backends.size());
      report["vips"][vip.name] = std::move(json);
    }
  });
}

Json VipsJson(const Control& control, const Fleet& fleet) {
  Json answer = Json::object();
  control.View([&](const Config&, const Tables& tables) {
    const Indices indices(tables);
    const BalancerTotals counters = fleet.Count(tables.vips().size(), 0);
    for (const VipSetup& vip : tables.setup().vips) {
      answer[vip.name] = VipJson(vip, counters.by_vip[indices.vips.at(vip.name)]);
      answer[vip.name]["backends"] = vip.backends.size();
    }
  });
  return answer;
}

Json BackendsJson(const Control& control, const Fleet& fleet, const std::string& name,
                  size_t first) {
  Json answer;
  control.View([&](const Config&, const Tables& tables) {
    const auto& vips = tables.setup().vips;
    const auto vip = std::ranges::find(vips, name, &VipSetup::name);
    if (vip == vips.end()) return;
    answer = View(tables, fleet).Backends(tables, *vip, first, kPerAnswer);
  });
  return answer;
}

}  // namespace sluice::maglev
