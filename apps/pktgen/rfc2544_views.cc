// SPDX-License-Identifier: BSD-3-Clause
#include "rfc2544_views.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "views.h"

namespace sluice::pktgen {

namespace {

using engine::pktgen::Offer;
using engine::pktgen::Outcome;
using engine::pktgen::RateLimit;
using engine::workload::Histogram;
using Json = nlohmann::ordered_json;
using Test = Rfc2544::Test;

double Mpps(double pps) { return pps / 1e6; }

Json OutcomeJson(const Offer& offer, const Outcome& outcome) {
  return {{"offered_pps", offer.rate_pps},   {"duration_s", offer.duration_s},
          {"offered_pkts", outcome.offered}, {"unsent_pkts", outcome.unsent},
          {"lost_pkts", outcome.lost},       {"disturbed", outcome.disturbed}};
}

std::string RateTotals(const Found& found) {
  std::string text =
      absl::StrFormat("%.6g to %.6g Mpps, limit: %s, confidence %.3f, %d trials\n",
                      Mpps(found.rate.low_pps), Mpps(found.rate.high_pps), NameOf(found.rate.limit),
                      found.rate.confidence, found.rate.trials.size());
  if (found.latencies.empty()) return text;
  Histogram all;
  for (const Histogram& latency : found.latencies) all.Add(latency);
  absl::StrAppendFormat(&text, "latency at %.6g Mpps: mean %.1f  p50 %.1f  p99 %.1f us\n",
                        Mpps(found.rate.low_pps), all.mean() / 1e3,
                        static_cast<double>(all.Percentile(0.5)) / 1e3,
                        static_cast<double>(all.Percentile(0.99)) / 1e3);
  return text;
}

std::string LossTotals(const Found& found) {
  std::string text = "\n";
  for (const auto& [percent, outcome] : found.losses) {
    absl::StrAppendFormat(&text, "%3d %% of the line: lost %d, unsent %d of %d\n", percent,
                          outcome.lost, outcome.unsent, outcome.offered);
  }
  return text;
}

std::string BurstTotals(const Found& found) {
  const auto& [bursts, longest] = found.bursts;
  const auto sum = std::accumulate(bursts.begin(), bursts.end(), uint64_t{0});
  const size_t count = std::max<size_t>(bursts.size(), 1);
  return absl::StrFormat("%.1f frames, mean of %d bursts; the longest offered %d\n",
                         static_cast<double>(sum) / static_cast<double>(count), bursts.size(),
                         longest);
}

void AddRate(const Rfc2544& test, const Found& found, Json& report) {
  report["low_pps"] = found.rate.low_pps;
  report["high_pps"] = found.rate.high_pps;
  report["limit"] = NameOf(found.rate.limit);
  report["confidence"] = found.rate.confidence;
  report["tolerated_loss"] = test.tolerated_loss;
  report["trials"] = Json::array();
  for (const auto& trial : found.rate.trials) {
    report["trials"].push_back(OutcomeJson(trial.offer, trial.outcome));
  }
  if (test.test != Test::kLatency) return;
  report["latency_ns"] = Json::array();
  for (const Histogram& latency : found.latencies) {
    report["latency_ns"].push_back(LatencyJson(latency));
  }
}

}  // namespace

std::string WhyNoVerdict(const Rfc2544& test, const Found& found) {
  if (!found.unfinished.empty()) return found.unfinished;
  const bool searched = test.test == Test::kThroughput || test.test == Test::kLatency;
  if (!searched || found.rate.limit != RateLimit::kNoise) return "";
  return "trials contradict each other, or the host disturbed them: give it longer trials or a "
         "quieter host";
}

std::string Rfc2544Totals(const Rfc2544& test, const Found& found) {
  const std::string begin = "rfc2544 " + std::string(NameOf(test.test)) + ": ";
  switch (test.test) {
    case Test::kThroughput:
    case Test::kLatency:
      return begin + RateTotals(found);
    case Test::kLoss:
      return begin + LossTotals(found);
    case Test::kBackToBack:
      return begin + BurstTotals(found);
  }
  return begin;
}

Json Rfc2544Json(const Rfc2544& test, const Found& found) {
  const std::string why = WhyNoVerdict(test, found);
  Json report{{"test", NameOf(test.test)},
              {"line_pps", found.line_pps},
              {"verdict", why.empty() ? "" : "none: " + why}};
  switch (test.test) {
    case Test::kThroughput:
    case Test::kLatency:
      AddRate(test, found, report);
      break;
    case Test::kLoss:
      report["rates"] = Json::array();
      for (const auto& [percent, outcome] : found.losses) {
        Json rate = OutcomeJson({found.line_pps * percent / 100, test.trial_s}, outcome);
        rate["percent"] = percent;
        report["rates"].push_back(std::move(rate));
      }
      break;
    case Test::kBackToBack:
      report["longest_offered_pkts"] = found.bursts.longest;
      report["burst_pkts"] = found.bursts.bursts;
      break;
  }
  return report;
}

}  // namespace sluice::pktgen
