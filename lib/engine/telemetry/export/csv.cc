// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/export/csv.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "engine/telemetry/export/flow_text.h"

namespace sluice::engine::telemetry {

namespace {

/// Returns the number without an exponent or trailing zeros; empty if the number is not finite.
std::string Number(double value) {
  if (!std::isfinite(value)) return "";
  std::string text = absl::StrFormat("%.6f", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

Range Exactly(double value) { return {value, value, value}; }
Range Around(const Estimate& estimate) {
  return {estimate.value, estimate.value - estimate.bound, estimate.value + estimate.bound};
}
/// Returns the range of an estimated count, which cannot be negative.
Range AroundCount(const Estimate& estimate) {
  Range range = Around(estimate);
  range.low = std::max(range.low, 0.0);
  return range;
}

/// Writes rows with common first columns.
class Rows {
 public:
  Rows(std::string* text, const EpochReport& report, uint64_t clock_unix_ns, const std::string& key)
      : text_(*text),
        head_(absl::StrCat(report.number, ",", clock_unix_ns + report.start_ns, ",",
                           clock_unix_ns + report.end_ns, ",", CsvField(key), ",")) {}

  void Add(std::string_view what, const std::string& flow, const Range& range,
           std::optional<uint64_t> exact = std::nullopt, std::string_view counted_by = "") {
    absl::StrAppend(&text_, head_, std::string(what), ",", flow, ",", Number(range.value), ",",
                    Number(range.low), ",", Number(range.high), ",",
                    exact ? std::to_string(*exact) : "", ",", std::string(counted_by), "\r\n");
  }

 private:
  std::string& text_;
  const std::string head_;
};

/// Returns the columns of a flow: source, destination, protocol, source port and destination port.
std::string FlowColumns(const KeySpec& spec, const packet::FlowKey& key) {
  switch (spec.kind) {
    case KeyKind::kSource:
      return absl::StrCat(PrefixText(spec, key), ",,,,");
    case KeyKind::kDestination:
      return absl::StrCat(",", PrefixText(spec, key), ",,,");
    case KeyKind::kFiveTuple:
      break;
  }
  return absl::StrCat(AddressText(key.source, key.ip_version), ",",
                      AddressText(key.destination, key.ip_version), ",", key.protocol, ",",
                      key.source_port, ",", key.destination_port);
}

constexpr char kNoFlow[] = ",,,,";

}  // namespace

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string CsvHeader() {
  return "epoch,start_ns,end_ns,key,what,source,destination,protocol,source_port,"
         "destination_port,value,low,high,exact,counted_by\r\n";
}

std::string CsvRows(const EpochReport& report, uint64_t clock_unix_ns) {
  std::string text;
  Rows all(&text, report, clock_unix_ns, "");
  all.Add("packets", kNoFlow, Exactly(static_cast<double>(report.total.pkts)), report.total.pkts);
  all.Add("bytes", kNoFlow, Exactly(static_cast<double>(report.total.bytes)), report.total.bytes);
  all.Add("other_packets", kNoFlow, AroundCount(report.other_pkts));
  all.Add("probability", kNoFlow,
          {report.last_probability, report.least_probability,
           report.exact_pkts > 0 ? 1 : report.last_probability});
  for (const KeyReport& key : report.keys) {
    Rows rows(&text, report, clock_unix_ns, key.spec.Name());
    if (key.distinct_flows) rows.Add("distinct_flows", kNoFlow, *key.distinct_flows);
    if (key.entropy) rows.Add("entropy_bits", kNoFlow, *key.entropy);
    for (const FlowRecord& flow : key.heavy_hitters) {
      const std::string columns = FlowColumns(key.spec, flow.key);
      const auto& exact = flow.exact;
      rows.Add("packets", columns, AroundCount(flow.packets),
               exact ? std::optional(exact->pkts) : std::nullopt, NameOf(flow.counted_by));
      rows.Add("bytes", columns, AroundCount(flow.bytes),
               exact ? std::optional(exact->bytes) : std::nullopt, NameOf(flow.counted_by));
    }
    for (const FlowChange& change : key.changes) {
      rows.Add("packets_change", FlowColumns(key.spec, change.key), Around(change.difference));
    }
  }
  return text;
}

}  // namespace sluice::engine::telemetry
