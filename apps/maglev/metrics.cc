// SPDX-License-Identifier: BSD-3-Clause
#include "metrics.h"

#include <string>
#include <utility>

namespace sluice::maglev {

namespace {

using engine::maglev::BackendSetup;
using engine::maglev::BackendState;
using engine::maglev::BalancerCounters;
using engine::maglev::BalancerTotals;
using engine::maglev::Tables;
using engine::maglev::Vip;
using engine::maglev::VipSetup;
using prometheus::MetricFamily;
using prometheus::MetricType;
using runtime::CounterValue;
using runtime::GaugeValue;
using runtime::MetricLabels;
using runtime::Number;

// Adds the traffic counters, which are indexed by VIP and backend.
void AddTraffic(const Tables& tables, const BalancerTotals& totals,
                runtime::MetricFamilies& families) {
  MetricFamily vip_pkts{
      "sluice_maglev_vip_packets_total", "Frames received for a VIP.", MetricType::Counter, {}};
  MetricFamily vip_bytes{"sluice_maglev_vip_bytes_total",
                         "Bytes of the frames received for a VIP.",
                         MetricType::Counter,
                         {}};
  for (const Vip& vip : tables.vips()) {
    if (!vip.in_use) continue;
    const MetricLabels labels{{"vip", tables.VipName(vip.index)}};
    vip_pkts.metric.push_back(CounterValue(Number(totals.by_vip[vip.index].pkts), labels));
    vip_bytes.metric.push_back(CounterValue(Number(totals.by_vip[vip.index].bytes), labels));
  }
  MetricFamily pkts{"sluice_maglev_backend_packets_total",
                    "Frames sent to a backend since its entry was added to the configuration.",
                    MetricType::Counter,
                    {}};
  for (size_t i = 0; i < tables.backends().size(); ++i) {
    const std::string& name = tables.BackendName(static_cast<uint16_t>(i));
    if (name.empty()) continue;
    pkts.metric.push_back(
        CounterValue(Number(totals.by_backend[i].pkts),
                     {{"vip", tables.VipName(tables.backends()[i].vip)}, {"backend", name}}));
  }
  MetricFamily events{"sluice_maglev_events_total",
                      "Packets, by the rule that decided where they go, and other events.",
                      MetricType::Counter,
                      {}};
  for (size_t i = 0; i < totals.events.size(); ++i) {
    events.metric.push_back(CounterValue(Number(totals.events[i]),
                                         {{"event", std::string(BalancerCounters::kNames[i])}}));
  }
  families.push_back(std::move(vip_pkts));
  families.push_back(std::move(vip_bytes));
  families.push_back(std::move(pkts));
  families.push_back(std::move(events));
}

void AddStates(const Tables& tables, runtime::MetricFamilies& families) {
  MetricFamily up{"sluice_maglev_backend_up",
                  "1 while a backend gets new flows, because it is up and its weight is not 0.",
                  MetricType::Gauge,
                  {}};
  MetricFamily open{
      "sluice_maglev_vip_failed_open",
      "1 while a VIP uses all its backends because none of them answers health checks.",
      MetricType::Gauge,
      {}};
  for (const VipSetup& vip : tables.setup().vips) {
    open.metric.push_back(GaugeValue(vip.failed_open, {{"vip", vip.name}}));
    for (const BackendSetup& backend : vip.backends) {
      up.metric.push_back(GaugeValue(backend.state == BackendState::kUp && backend.weight != 0,
                                     {{"vip", vip.name}, {"backend", backend.name}}));
    }
  }
  families.push_back(std::move(up));
  families.push_back(std::move(open));
  runtime::AddGauge(families, "sluice_maglev_configuration_epoch",
                    "Generation of the tables, which increases with each change of the "
                    "configuration or of a backend's state.",
                    Number(tables.epoch()));
}

// Adds a metric per skipped key, so that alerts can name the key.
void AddSkipped(const engine::maglev::SkippedKeys& skipped, runtime::MetricFamilies& families) {
  constexpr size_t kNamed = 100;
  runtime::AddGauge(families, "sluice_maglev_skipped_keys",
                    "Number of invalid keys of etcd, which the configuration ignores.",
                    Number(skipped.size()));
  MetricFamily named{"sluice_maglev_skipped_key",
                     "1 for each invalid key of etcd, up to a hundred keys.",
                     MetricType::Gauge,
                     {}};
  for (const auto& [key, line] : skipped) {
    if (named.metric.size() == kNamed) break;
    named.metric.push_back(GaugeValue(1, {{"key", engine::maglev::Printable(key)}}));
  }
  families.push_back(std::move(named));
}

}  // namespace

void AddMetrics(const Control& control, const Fleet& fleet, runtime::MetricFamilies& families) {
  control.View([&](const Config& config, const Tables& tables) {
    AddSkipped(config.skipped, families);
    AddTraffic(tables, fleet.Count(tables.vips().size(), tables.backends().size()), families);
    AddStates(tables, families);
    families.push_back({"sluice_maglev_health_no_result_total",
                        "Health checks that this host could not perform.",
                        MetricType::Counter,
                        {CounterValue(Number(control.no_results()), {})}});
  });
}

}  // namespace sluice::maglev
