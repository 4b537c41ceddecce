// SPDX-License-Identifier: BSD-3-Clause
#include "report.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "host/measures.h"
#include "host/report.h"

namespace sluice::kv_client {

namespace {

using engine::kv::client::ClientCounters;
using engine::kv::client::Protocol;
using engine::workload::Histogram;
using host::LatencyJson;
using host::Us;

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

Histogram All(const Figures& figures) {
  Histogram all = figures.gets;
  all.Add(figures.sets);
  return all;
}

std::string Latency(const Histogram& histogram) {
  return absl::StrFormat("p50 %.1f  p99 %.1f  p99.9 %.1f  max %.1f us",
                         Us(histogram.Percentile(0.5)), Us(histogram.Percentile(0.99)),
                         Us(histogram.Percentile(0.999)), Us(histogram.max()));
}

const char* Name(Protocol protocol) {
  switch (protocol) {
    case Protocol::kMemcachedAscii:
      return "memcached-ascii";
    case Protocol::kMemcachedBinary:
      return "memcached-binary";
    default:
      return "mica";
  }
}

}  // namespace

std::string PeriodLine(const Figures& earlier, const Figures& later) {
  const ClientCounters &a = earlier.counters, &b = later.counters;
  const double seconds = later.seconds - earlier.seconds;
  const auto answers = static_cast<double>(b.answers() - a.answers());
  const auto hits = static_cast<double>(b.hits - a.hits);
  const auto misses = static_cast<double>(b.misses - a.misses);
  return absl::StrFormat("%7.1f s  %.4f Mops  hits %.1f %%  %s  lost %d  refused %d  wrong %d",
                         later.seconds, Ratio(answers, seconds) / 1e6,
                         100 * Ratio(hits, hits + misses), Latency(All(later)),
                         b.timeouts - a.timeouts, b.refused - a.refused, b.wrong - a.wrong);
}

std::string Totals(const Settings& settings, const Figures& run) {
  const ClientCounters& c = run.counters;
  std::string text = absl::StrFormat(
      "%s, %d B keys, %d B values: %.4f Mops for %.1f s\n", Name(settings.client.protocol),
      settings.client.sizes.key_bytes, settings.client.sizes.value_bytes,
      Ratio(static_cast<double>(c.answers()), run.seconds) / 1e6, run.seconds);
  absl::StrAppend(&text, "  gets  ", Latency(run.gets), "\n  sets  ", Latency(run.sets), "\n");
  absl::StrAppend(&text, "  requests ", c.requests, ": hits ", c.hits, ", misses ", c.misses,
                  ", stored ", c.stored, ", refused ", c.refused, ", lost ", c.timeouts, ", wrong ",
                  c.wrong, "\n");
  for (const auto& [name, count] : std::initializer_list<std::pair<const char*, uint64_t>>{
           {"unsent", c.unsent},
           {"late answers", c.late},
           {"malformed answers", c.malformed},
           {"from unknown senders", run.strangers},
           {"send errors", run.send_errors},
           {"preloading refused", c.preload_refused},
           {"preloading lost", c.preload_timeouts},
           {"items moved", run.items_moved}}) {
    if (count != 0) absl::StrAppend(&text, "  ", name, ": ", count, "\n");
  }
  return text;
}

std::string Json(const Settings& settings, const Figures& run) {
  const ClientCounters& c = run.counters;
  const auto& client = settings.client;
  nlohmann::ordered_json report = host::NewReport("kv-client", run.seconds);
  report.update({{"protocol", Name(client.protocol)},
                 {"key_bytes", client.sizes.key_bytes},
                 {"value_bytes", client.sizes.value_bytes},
                 {"items", client.items},
                 {"get_share", client.get_share},
                 {"zipf_exponent", client.zipf_exponent},
                 {"rate", client.rate},
                 {"outstanding", client.outstanding},
                 {"verify", client.verify},
                 {"mops", Ratio(static_cast<double>(c.answers()), run.seconds) / 1e6},
                 {"requests", c.requests},
                 {"unsent", c.unsent},
                 {"hits", c.hits},
                 {"misses", c.misses},
                 {"stored", c.stored},
                 {"refused", c.refused},
                 {"lost", c.timeouts},
                 {"corrupted", c.wrong},
                 {"late", c.late},
                 {"malformed", c.malformed},
                 {"strangers", run.strangers},
                 {"send_errors", run.send_errors},
                 {"preloaded", c.preloaded},
                 {"preload_refused", c.preload_refused},
                 {"preload_lost", c.preload_timeouts},
                 {"servers", run.servers},
                 {"server_changes", run.changes},
                 {"items_moved", run.items_moved},
                 {"get_latency_us", LatencyJson(run.gets)},
                 {"set_latency_us", LatencyJson(run.sets)},
                 {"latency_us", LatencyJson(All(run))}});
  return host::ReportText(report);
}

}  // namespace sluice::kv_client
