// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/export/epoch_json.h"

#include <utility>

#include "engine/telemetry/export/flow_text.h"

namespace sluice::engine::telemetry {

namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const Estimate& estimate) {
  return {{"value", estimate.value}, {"bound", estimate.bound}};
}

Json ToJson(const Range& range) {
  return {{"value", range.value}, {"low", range.low}, {"high", range.high}};
}

Json KeyJson(const KeySpec& spec, const packet::FlowKey& key) {
  if (spec.kind == KeyKind::kSource) return {{"source", PrefixText(spec, key)}};
  if (spec.kind == KeyKind::kDestination) return {{"destination", PrefixText(spec, key)}};
  return {{"source", AddressText(key.source, key.ip_version)},
          {"destination", AddressText(key.destination, key.ip_version)},
          {"protocol", key.protocol},
          {"source_port", key.source_port},
          {"destination_port", key.destination_port}};
}

Json FlowJson(const KeySpec& spec, const FlowRecord& flow) {
  Json json = KeyJson(spec, flow.key);
  json["packets"] = ToJson(flow.packets);
  json["bytes"] = ToJson(flow.bytes);
  json["counted_by"] = NameOf(flow.counted_by);
  if (flow.exact) json["exact"] = {{"packets", flow.exact->pkts}, {"bytes", flow.exact->bytes}};
  return json;
}

Json ChangeJson(const KeySpec& spec, const FlowChange& change) {
  Json json = KeyJson(spec, change.key);
  json["packets_before"] = change.packets_before;
  json["packets_now"] = change.packets_now;
  json["difference"] = ToJson(change.difference);
  return json;
}

Json TableJson(const TableReport& table) {
  return {{"complete", table.complete},
          {"flows", table.flows},
          {"flows_left", table.flows_left},
          {"packets", table.pkts}};
}

Json OracleJson(const OracleReport& oracle) {
  return {{"flows", oracle.flows},
          {"refused_packets", oracle.refused_pkts},
          {"compared_flows", oracle.compared_flows},
          {"mean_relative_error", oracle.mean_relative_error},
          {"max_relative_error", oracle.max_relative_error},
          {"mean_relative_bound", oracle.mean_relative_bound},
          {"beyond_bound", oracle.beyond_bound}};
}

Json KeyReportJson(const KeyReport& key) {
  Json json = {{"key", key.spec.Name()}};
  if (key.distinct_flows) json["distinct_flows"] = ToJson(*key.distinct_flows);
  if (key.entropy) json["entropy_bits"] = ToJson(*key.entropy);
  if (key.table) json["table"] = TableJson(*key.table);
  if (key.oracle) json["oracle"] = OracleJson(*key.oracle);
  json["heavy_hitters"] = Json::array();
  for (const FlowRecord& flow : key.heavy_hitters) {
    json["heavy_hitters"].push_back(FlowJson(key.spec, flow));
  }
  json["changes"] = Json::array();
  for (const FlowChange& change : key.changes) {
    json["changes"].push_back(ChangeJson(key.spec, change));
  }
  return json;
}

}  // namespace

Json EpochJson(const EpochReport& report, uint64_t clock_unix_ns, double confidence) {
  Json json = {{"epoch", report.number},
               {"start_ns", clock_unix_ns + report.start_ns},
               {"end_ns", clock_unix_ns + report.end_ns},
               {"workers", report.workers},
               {"packets", report.total.pkts},
               {"bytes", report.total.bytes},
               {"other_packets", ToJson(report.other_pkts)},
               {"least_probability", report.least_probability},
               {"last_probability", report.last_probability},
               {"exact_packets", report.exact_pkts},
               {"confidence", confidence},
               {"memory_bytes", report.memory_bytes}};
  json["keys"] = Json::array();
  for (const KeyReport& key : report.keys) json["keys"].push_back(KeyReportJson(key));
  return json;
}

}  // namespace sluice::engine::telemetry
