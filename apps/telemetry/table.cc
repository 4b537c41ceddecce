// SPDX-License-Identifier: BSD-3-Clause
#include "table.h"

#include <absl/strings/str_format.h>

#include <algorithm>

#include "engine/telemetry/export/flow_text.h"

namespace sluice::telemetry {

namespace {

using engine::telemetry::EpochReport;
using engine::telemetry::Estimate;
using engine::telemetry::FlowRecord;
using engine::telemetry::FlowText;
using engine::telemetry::KeyReport;
using engine::telemetry::OracleReport;

double Percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string WithBound(const Estimate& estimate) {
  std::string text = absl::StrFormat("%.0f", estimate.value);
  if (estimate.bound > 0) absl::StrAppendFormat(&text, " ± %.0f", estimate.bound);
  return text;
}

std::string FlowLine(const KeyReport& key, const FlowRecord& flow, uint64_t all_pkts) {
  std::string line = absl::StrFormat("\n      %5.2f %%  %s packets",
                                     Percent(flow.packets.value, static_cast<double>(all_pkts)),
                                     WithBound(flow.packets));
  if (flow.exact) absl::StrAppendFormat(&line, " (exactly %d)", flow.exact->pkts);
  return line + "  " + FlowText(key.spec, flow.key);
}

std::string OracleLine(const OracleReport& oracle) {
  std::string line = absl::StrFormat("\n      oracle: %d flows counted exactly", oracle.flows);
  if (oracle.compared_flows == 0) {
    return line + absl::StrFormat(", none of %d packets or more", OracleReport::kLeastPackets);
  }
  absl::StrAppendFormat(&line,
                        "; of %d with %d packets or more: error mean %.3f %%, largest %.3f %%; "
                        "bound mean %.3f %%, exceeded by %d",
                        oracle.compared_flows, OracleReport::kLeastPackets,
                        100 * oracle.mean_relative_error, 100 * oracle.max_relative_error,
                        100 * oracle.mean_relative_bound, oracle.beyond_bound);
  return line;
}

std::string KeyLines(const KeyReport& key, uint64_t all_pkts, uint32_t top) {
  std::string text = "\n    " + key.spec.Name() + ":";
  if (key.distinct_flows) {
    absl::StrAppendFormat(&text, " %.0f flows (%.0f to %.0f),", key.distinct_flows->value,
                          key.distinct_flows->low, key.distinct_flows->high);
  }
  if (key.entropy) {
    absl::StrAppendFormat(&text, " entropy %.2f bits (%.2f to %.2f),", key.entropy->value,
                          key.entropy->low, key.entropy->high);
  }
  if (key.table && !key.table->complete) {
    absl::StrAppendFormat(&text, " %d of them counted exactly,",
                          key.table->flows - key.table->flows_left);
  } else if (key.table) {
    text += " all counted exactly,";
  }
  absl::StrAppendFormat(&text, " %d heavy hitters, %d changed", key.heavy_hitters.size(),
                        key.changes.size());
  for (size_t i = 0; i < std::min<size_t>(top, key.heavy_hitters.size()); ++i) {
    text += FlowLine(key, key.heavy_hitters[i], all_pkts);
  }
  if (key.oracle) text += OracleLine(*key.oracle);
  return text;
}

}  // namespace

std::string Table(const EpochReport& report, uint32_t top) {
  std::string text = absl::StrFormat(
      "  epoch %d: %d packets, %d bytes in %.3f s, %.1f %% of them counted one by one, update "
      "probability %.4g",
      report.number, report.total.pkts, report.total.bytes,
      static_cast<double>(report.end_ns - report.start_ns) / 1e9,
      Percent(static_cast<double>(report.exact_pkts), static_cast<double>(report.total.pkts)),
      report.last_probability);
  if (report.other_pkts.value > 0) text += ", not IP: " + WithBound(report.other_pkts);
  for (const KeyReport& key : report.keys) text += KeyLines(key, report.total.pkts, top);
  return text;
}

std::string TotalsLine(const EpochTotals& totals) {
  return absl::StrFormat(
      "telemetry: %d epochs, %d packets, %d bytes, %.1f %% of packets counted one by one, "
      "smallest update probability %.4g",
      totals.epochs, totals.traffic.pkts, totals.traffic.bytes,
      Percent(static_cast<double>(totals.exact_pkts), static_cast<double>(totals.traffic.pkts)),
      totals.least_probability);
}

std::string TableLine::Next() {
  const uint64_t epochs = latest_.totals().epochs;
  const auto report = latest_.report();
  if (!report || epochs == printed_) return "  no epoch has ended since the last report";
  printed_ = epochs;
  return Table(*report, top_);
}

}  // namespace sluice::telemetry
