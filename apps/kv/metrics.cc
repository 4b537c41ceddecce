// SPDX-License-Identifier: BSD-3-Clause
#include "metrics.h"

#include <utility>

#include "engine/kv/totals.h"

namespace sluice::kv {

namespace {

using engine::kv::PartitionCounters;
using engine::kv::ProtocolCounters;
using engine::kv::ResponderCounters;
using prometheus::MetricFamily;
using prometheus::MetricType;
using runtime::AddCounter;
using runtime::AddGauge;
using runtime::CounterValue;
using runtime::Number;

}  // namespace

void AddMetrics(const engine::kv::Store& store, const LiveSnapshots& snapshots,
                runtime::MetricFamilies& families) {
  const PartitionCounters items = ItemsOf(store);
  const ResponderCounters traffic = TrafficOf(store);
  AddGauge(families, "sluice_kv_items",
           "Items in the store, including expired items that have not been removed yet.",
           Number(items.items));
  AddGauge(families, "sluice_kv_item_bytes",
           "Memory of the items in the store, with their headers.", Number(items.item_bytes));
  AddCounter(families, "sluice_kv_evicted_items_total", "Items evicted to make room for new items.",
             Number(items.evicted));
  AddCounter(families, "sluice_kv_expired_items_total", "Items that expired.",
             Number(items.expired));
  AddCounter(families, "sluice_kv_refused_items_total",
             "Items rejected as too large or for lack of memory.", Number(items.refused));
  AddCounter(
      families, "sluice_kv_withheld_answers_total",
      "Answers not sent because the source of the request exceeded its limit (--excess_kb_s).",
      Number(traffic.withheld));
  MetricFamily requests{
      "sluice_kv_requests_total", "Requests, by protocol.", MetricType::Counter, {}};
  MetricFamily gets{
      "sluice_kv_gets_total", "Gets, by protocol and result.", MetricType::Counter, {}};
  MetricFamily errors{
      "sluice_kv_errors_total", "Requests answered with a client error.", MetricType::Counter, {}};
  for (const auto& [name, counters] :
       {std::pair("mica", &traffic.mica), std::pair("memcached", &traffic.memcached)}) {
    const runtime::MetricLabels protocol{{"protocol", name}};
    requests.metric.push_back(CounterValue(Number(counters->requests), protocol));
    gets.metric.push_back(
        CounterValue(Number(counters->get_hits), {{"protocol", name}, {"result", "hit"}}));
    gets.metric.push_back(
        CounterValue(Number(counters->get_misses), {{"protocol", name}, {"result", "miss"}}));
    errors.metric.push_back(CounterValue(Number(counters->errors), protocol));
  }
  families.push_back(std::move(requests));
  families.push_back(std::move(gets));
  families.push_back(std::move(errors));
  families.push_back({"sluice_kv_snapshots_total",
                      "Snapshots written or failed while the server answered requests, by result.",
                      MetricType::Counter,
                      {CounterValue(Number(snapshots.written()), {{"result", "written"}}),
                       CounterValue(Number(snapshots.failed()), {{"result", "failed"}})}});
}

}  // namespace sluice::kv
