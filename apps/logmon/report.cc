// SPDX-License-Identifier: BSD-3-Clause
#include "report.h"

#include <absl/strings/str_format.h>
#include <absl/time/time.h>

#include <algorithm>
#include <utility>

#include "collector.h"

namespace sluice::logmon {

namespace {

using engine::logmon::Series;
using engine::logmon::SourceCounters;
using nlohmann::ordered_json;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr size_t kFiltersInALine = 6;

void AddValues(const Series& series, ordered_json& json) {
  if (series.values == 0) return;
  json["values"] = series.values;
  json["sum"] = series.sum;
  json["min"] = series.min;
  json["max"] = series.max;
  json["p50"] = series.histogram->Percentile(0.5);
  json["p99"] = series.histogram->Percentile(0.99);
}

ClientMetric Counter(uint64_t value, runtime::MetricLabels labels = {}) {
  return runtime::CounterValue(static_cast<double>(value), std::move(labels));
}

}  // namespace

std::string AsciiLine(const ordered_json& json) {
  return json.dump(-1, ' ', true, ordered_json::error_handler_t::replace) + '\n';
}

ordered_json MinuteJson(const FilterMinute& minute, const Config& config) {
  const FilterConfig& about = config.about[minute.filter];
  ordered_json json;
  json["minute"] = absl::FormatTime(
      "%Y-%m-%dT%H:%MZ", absl::FromUnixSeconds(minute.report.minute * 60), absl::UTCTimeZone());
  json["filter"] = about.name;
  json["lines"] = minute.report.lines;
  uint64_t events = minute.report.overflow.events;
  for (const Series& series : minute.report.series) events += series.events;
  json["events"] = events;
  if (!about.has_metric() && !about.default_value) return json;
  json["series"] = ordered_json::array();
  const auto add = [&](const Series& series, const char* other) {
    ordered_json one;
    for (size_t i = 0; i < series.dimensions.size(); ++i) {
      one["dimensions"][about.dimensions.names()[i]] = series.dimensions[i];
    }
    if (other != nullptr) one["dimensions"] = other;
    one["events"] = series.events;
    AddValues(series, one);
    json["series"].push_back(std::move(one));
  };
  for (const Series& series : minute.report.series) add(series, nullptr);
  if (minute.report.overflow.events != 0) add(minute.report.overflow, "others");
  return json;
}

std::string PeriodLine(const Figures& before, const Figures& after, double seconds,
                       const Config& config) {
  const auto rate = [seconds](uint64_t from, uint64_t to) {
    return static_cast<double>(to - from) / seconds;
  };
  std::string line = absl::StrFormat(
      "  %.3f M lines/s, %.3f M/s matched, %d sources:", rate(before.lines, after.lines) / 1e6,
      rate(before.workers.scan.matched_lines, after.workers.scan.matched_lines) / 1e6,
      after.workers.known_sources);
  for (size_t i = 0; i < std::min(config.about.size(), kFiltersInALine); ++i) {
    const uint64_t earlier = before.filters.empty() ? 0 : before.filters[i].events;
    line += absl::StrFormat("%s %s %.0f/s", i == 0 ? "" : ",", config.about[i].name,
                            rate(earlier, after.filters[i].events));
  }
  if (config.about.size() > kFiltersInALine) line += ", ...";
  return line;
}

ordered_json FiguresJson(const Figures& figures, const Config& config) {
  ordered_json json;
  json["lines"] = figures.lines;
  json["matched_lines"] = figures.workers.scan.matched_lines;
  json["filters"] = ordered_json::array();
  for (size_t i = 0; i < config.about.size(); ++i) {
    ordered_json filter;
    filter["name"] = config.about[i].name;
    filter["pattern"] = config.about[i].pattern;
    if (config.about[i].rules) filter["rules"] = *config.about[i].rules;
    filter["events"] = figures.filters[i].events;
    AddValues(figures.filters[i].metric, filter);
    json["filters"].push_back(std::move(filter));
  }
  const engine::logmon::ScanCounters& scan = figures.workers.scan;
  json["scan"] = {{"asked", scan.asked},
                  {"given_up", scan.given_up},
                  {"unread_json", scan.unread_json},
                  {"truncated_lines", scan.truncated_lines},
                  {"torn_lines", scan.torn_lines},
                  {"no_memory_lines", scan.no_memory_lines}};
  ordered_json& sources = json["sources"];
  sources["known"] = figures.workers.known_sources;
  sources["state_bytes"] = figures.workers.state_bytes;
  for (size_t i = 0; i < SourceCounters::kEvents; ++i) {
    sources[std::string(SourceCounters::kNames[i])] = figures.workers.sources.events[i];
  }
  json["shown_lines"] = figures.workers.shown_lines;
  json["lost_lines"] = figures.workers.lost_lines;
  json["alerts"] = figures.alerts;
  json["lost_alert_hosts"] = figures.lost_hosts;
  json["failed_alert_programs"] = figures.failed_programs;
  if (!config.skipped_rules.empty()) json["left_out"] = config.skipped_rules;
  return json;
}

void AddMetrics(const Figures& figures, const Config& config, runtime::MetricFamilies& families) {
  MetricFamily events{
      "sluice_logmon_events_total", "Lines that each filter matched.", MetricType::Counter, {}};
  MetricFamily values{
      "sluice_logmon_metric", "Values of the metric of each filter.", MetricType::Summary, {}};
  for (size_t i = 0; i < config.about.size(); ++i) {
    const runtime::MetricLabels labels{{"filter", config.about[i].name}};
    events.metric.push_back(Counter(figures.filters[i].events, labels));
    const Series& metric = figures.filters[i].metric;
    if (metric.values == 0) continue;
    ClientMetric& summary = values.metric.emplace_back();
    summary.label = labels;
    summary.summary.sample_count = metric.values;
    summary.summary.sample_sum = metric.sum;
    for (const double share : {0.5, 0.99}) {
      summary.summary.quantile.push_back({share, metric.histogram->Percentile(share)});
    }
  }
  MetricFamily sources{"sluice_logmon_source_events_total",
                       "Events in the text of sources before it reaches the filters, by event.",
                       MetricType::Counter,
                       {}};
  for (size_t i = 0; i < SourceCounters::kEvents; ++i) {
    sources.metric.push_back(Counter(figures.workers.sources.events[i],
                                     {{"event", std::string(SourceCounters::kNames[i])}}));
  }
  families.push_back({"sluice_logmon_lines_total",
                      "Lines that were compared with the filters, whether they matched or not.",
                      MetricType::Counter,
                      {Counter(figures.lines)}});
  families.push_back({"sluice_logmon_alerts_total",
                      "Number of times that an alert fired.",
                      MetricType::Counter,
                      {Counter(figures.alerts)}});
  families.push_back(std::move(events));
  families.push_back(std::move(values));
  families.push_back(std::move(sources));
}

}  // namespace sluice::logmon
