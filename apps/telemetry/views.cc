// SPDX-License-Identifier: BSD-3-Clause
#include "views.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "engine/telemetry/export/epoch_json.h"
#include "engine/telemetry/export/flow_text.h"

namespace sluice::telemetry {

namespace {

using engine::telemetry::EpochReport;
using engine::telemetry::FlowRecord;
using engine::telemetry::FlowText;
using engine::telemetry::KeyReport;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using runtime::CounterValue;
using runtime::GaugeValue;
using Json = nlohmann::ordered_json;

constexpr size_t kPerAnswer = 80;  // Maximum flows per telemetry answer, which has at most 16 KiB.
constexpr size_t kUsualTop = 10;

uint64_t Rounded(double value) {
  return value > 0 ? static_cast<uint64_t>(std::llround(std::min(value, 0x1p62))) : 0;
}

// Parses "", "source", "source,20" or "20": a key (by default the first one) and a number of flows.
const KeyReport* FindKey(const EpochReport& report, std::string_view parameters, size_t* flows) {
  const auto named = [&](std::string_view name) -> const KeyReport* {
    if (name.empty()) return &report.keys.front();
    const auto key = std::ranges::find_if(
        report.keys, [&](const KeyReport& key) { return key.spec.Name() == name; });
    return key == report.keys.end() ? nullptr : &*key;
  };
  if (const KeyReport* const key = named(parameters)) return key;
  const size_t comma = parameters.rfind(',');
  const bool alone = comma == std::string_view::npos;
  const std::string_view number = alone ? parameters : parameters.substr(comma + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), *flows);
  if (error != std::errc() || end != number.data() + number.size()) return nullptr;
  return named(alone ? "" : parameters.substr(0, comma));
}

}  // namespace

Json Views::Top(std::string_view parameters) const {
  const std::optional<EpochReport> report = latest_.report();
  if (!report) return {{"error", "no epoch has ended yet"}};
  size_t most = kUsualTop;
  const KeyReport* const key = FindKey(*report, parameters, &most);
  if (key == nullptr)
    return {{"error", "give KEY or KEY,N: a key of --keys, and the number of flows"}};
  Json answer = Json::object();
  for (const FlowRecord& flow : key->heavy_hitters) {
    if (answer.size() >= std::min(most, kPerAnswer)) break;
    answer[std::to_string(answer.size() + 1)] = {{"flow", FlowText(key->spec, flow.key)},
                                                 {"packets", Rounded(flow.packets.value)},
                                                 {"packets_bound", Rounded(flow.packets.bound)},
                                                 {"bytes", Rounded(flow.bytes.value)},
                                                 {"bytes_bound", Rounded(flow.bytes.bound)}};
  }
  return answer;
}

Json Views::Epoch() const {
  const std::optional<EpochReport> report = latest_.report();
  if (!report) return {{"error", "no epoch has ended yet"}};
  Json answer = {{"epoch", report->number},
                 {"packets", report->total.pkts},
                 {"bytes", report->total.bytes},
                 {"exact_packets", report->exact_pkts},
                 {"other_packets", Rounded(report->other_pkts.value)},
                 {"probability", report->last_probability},
                 {"memory_bytes", report->memory_bytes}};
  size_t number = 0;
  for (const KeyReport& key : report->keys) {
    Json json = {{"key", key.spec.Name()},
                 {"heavy_hitters", key.heavy_hitters.size()},
                 {"changes", key.changes.size()}};
    if (key.distinct_flows) json["distinct_flows"] = Rounded(key.distinct_flows->value);
    if (key.entropy) json["entropy_bits"] = key.entropy->value;
    answer["key_" + std::to_string(++number)] = std::move(json);
  }
  return answer;
}

std::vector<runtime::TelemetryCommand> Views::Commands() const {
  return {{"/sluice/telemetry/top",
           "Largest flows of the last epoch. Parameters: [key][,number of flows].",
           [this](std::string_view parameters) { return Top(parameters); }},
          {"/sluice/telemetry/epoch", "Report of the last epoch. No parameters.",
           [this](std::string_view) { return Epoch(); }}};
}

void Views::AddMetrics(runtime::MetricFamilies& families) const {
  const EpochTotals totals = latest_.totals();
  const auto add = [&families](const char* name, const char* help, MetricType type,
                               std::vector<ClientMetric> metrics) {
    families.push_back({name, help, type, std::move(metrics)});
  };
  add("sluice_telemetry_epochs_total", "Epochs reported.", MetricType::Counter,
      {CounterValue(static_cast<double>(totals.epochs))});
  add("sluice_telemetry_packets_total", "Packets of all reported epochs.", MetricType::Counter,
      {CounterValue(static_cast<double>(totals.traffic.pkts))});
  add("sluice_telemetry_exact_packets_total",
      "Packets that were counted one by one, without sampling.", MetricType::Counter,
      {CounterValue(static_cast<double>(totals.exact_pkts))});
  const Json exports = exports_.Counts();
  if (exports.contains("ipfix_messages")) {
    add("sluice_telemetry_ipfix_messages_total", "IPFIX messages that were sent.",
        MetricType::Counter, {CounterValue(exports["ipfix_messages"].get<double>())});
    add("sluice_telemetry_ipfix_failed_total", "IPFIX messages that could not be sent.",
        MetricType::Counter, {CounterValue(exports["ipfix_failed"].get<double>())});
  }
  const std::optional<EpochReport> report = latest_.report();
  if (!report) return;
  add("sluice_telemetry_update_ratio",
      "Probability with which packets updated sketches at the end of the last epoch.",
      MetricType::Gauge, {GaugeValue(report->last_probability)});
  add("sluice_telemetry_memory_bytes", "Bytes of memory of the counters of all workers.",
      MetricType::Gauge, {GaugeValue(static_cast<double>(report->memory_bytes))});
  std::vector<ClientMetric> heavy, changed, flows, entropy;
  for (const KeyReport& key : report->keys) {
    const runtime::MetricLabels label = {{"key", key.spec.Name()}};
    heavy.push_back(GaugeValue(static_cast<double>(key.heavy_hitters.size()), label));
    changed.push_back(GaugeValue(static_cast<double>(key.changes.size()), label));
    if (key.distinct_flows) flows.push_back(GaugeValue(key.distinct_flows->value, label));
    if (key.entropy) entropy.push_back(GaugeValue(key.entropy->value, label));
  }
  add("sluice_telemetry_heavy_hitters", "Heavy hitters of the last epoch.", MetricType::Gauge,
      std::move(heavy));
  add("sluice_telemetry_changed_flows",
      "Flows whose number of packets changed by at least --change_share between the last two "
      "epochs.",
      MetricType::Gauge, std::move(changed));
  if (!flows.empty()) {
    add("sluice_telemetry_distinct_flows", "Estimated number of distinct flows of the last epoch.",
        MetricType::Gauge, std::move(flows));
    add("sluice_telemetry_entropy",
        "Estimated entropy of the distribution of packets over flows in the last epoch, in bits.",
        MetricType::Gauge, std::move(entropy));
  }
}

void Views::Extend(Json& report) const {
  const EpochTotals totals = latest_.totals();
  Json json = {{"epochs", totals.epochs},
               {"packets", totals.traffic.pkts},
               {"bytes", totals.traffic.bytes},
               {"exact_packets", totals.exact_pkts},
               {"other_packets", totals.other_pkts},
               {"least_probability", totals.least_probability},
               {"exports", exports_.Counts()}};
  if (const std::optional<EpochReport> last = latest_.report()) {
    json["memory_bytes"] = last->memory_bytes;
    json["last_epoch"] = EpochJson(*last, clock_unix_ns_, confidence_);
  }
  report["telemetry"] = std::move(json);
}

}  // namespace sluice::telemetry
