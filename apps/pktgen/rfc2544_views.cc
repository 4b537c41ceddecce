// SPDX-License-Identifier: BSD-3-Clause
#include "rfc2544_views.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "views.h"

namespace sluice::pktgen {

namespace {

using engine::pktgen::LossAtRate;
using engine::pktgen::Offer;
using engine::pktgen::Outcome;
using engine::pktgen::RateLimit;
using engine::pktgen::Refusal;
using engine::pktgen::Spread;
using engine::pktgen::SpreadOf;
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

std::string_view NameOf(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "";
    case Refusal::kStopped:
      return "stopped before its end";
    case Refusal::kGenerator:
      return "the generator could not send that fast";
    case Refusal::kHost:
      return "the host disturbed ten trials in a row";
  }
  return "";
}

// Returns "" or "none: why".
std::string Verdict(std::string_view why) { return why.empty() ? "" : "none: " + std::string(why); }

Json SpreadJson(std::span<const double> values) {
  const Spread spread = SpreadOf(values);
  return {{"average", spread.average},
          {"minimum", spread.minimum},
          {"maximum", spread.maximum},
          {"deviation", spread.deviation}};
}

std::string SpreadText(std::span<const double> values, std::string_view unit) {
  const Spread spread = SpreadOf(values);
  return absl::StrFormat("%.6g%s (%.6g to %.6g, deviation %.3g, of %d)", spread.average, unit,
                         spread.minimum, spread.maximum, spread.deviation, values.size());
}

std::vector<double> BurstsOf(const Found& found) {
  return {found.bursts.bursts.begin(), found.bursts.bursts.end()};
}

std::string LossTotals(const Found& found) {
  std::string text = "\n";
  for (const LossAtRate& rate : found.losses) {
    absl::StrAppendFormat(&text, "%3d %% of the line: ", rate.percent);
    if (rate.losses.empty()) {
      text += "loss unknown";
    } else {
      text += "loss " + SpreadText(rate.losses, " %");
    }
    absl::StrAppendFormat(&text, "; lost %d, unsent %d of %d", rate.counted.lost,
                          rate.counted.unsent, rate.counted.offered);
    const size_t others = rate.trials.size() - rate.losses.size();
    if (others > 0) absl::StrAppendFormat(&text, "; %d trials disturbed or short", others);
    if (rate.refusal != Refusal::kNone)
      absl::StrAppendFormat(&text, "; no verdict: %s", NameOf(rate.refusal));
    text += "\n";
  }
  return text;
}

std::string BurstTotals(const Found& found) {
  return "longest burst without loss: " + SpreadText(BurstsOf(found), " frames") +
         absl::StrFormat("; the longest offered %d\n", found.bursts.longest);
}

Json LossJson(const Rfc2544& test, double line_pps, const LossAtRate& rate) {
  const Offer offer{line_pps * rate.percent / 100, test.trial_s};
  Json json = OutcomeJson(offer, rate.counted);
  json["percent"] = rate.percent;
  json["verdict"] = Verdict(NameOf(rate.refusal));
  json["loss_percent"] = SpreadJson(rate.losses);
  json["trials"] = Json::array();
  for (const Outcome& outcome : rate.trials) json["trials"].push_back(OutcomeJson(offer, outcome));
  return json;
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
  Refusal refusal = found.bursts.refusal;
  for (const LossAtRate& rate : found.losses) {
    if (rate.refusal != Refusal::kNone) refusal = rate.refusal;
  }
  const bool searched = test.test == Test::kThroughput || test.test == Test::kLatency;
  if (searched && found.rate.limit == RateLimit::kNoise) {
    return "trials contradict each other, or the host disturbed them: use a larger --trial_s or a "
           "quieter host";
  }
  if (refusal == Refusal::kGenerator) {
    return "the generator could not send that fast: use more --workers or a smaller --line_gbps";
  }
  if (refusal == Refusal::kHost) {
    return "the host disturbed ten trials in a row: use a larger --trial_s or a quieter host";
  }
  return "";
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
  Json report{{"test", NameOf(test.test)}, {"line_pps", found.line_pps}, {"verdict", Verdict(why)}};
  switch (test.test) {
    case Test::kThroughput:
    case Test::kLatency:
      AddRate(test, found, report);
      break;
    case Test::kLoss:
      report["rates"] = Json::array();
      for (const LossAtRate& rate : found.losses) {
        report["rates"].push_back(LossJson(test, found.line_pps, rate));
      }
      break;
    case Test::kBackToBack:
      report["longest_offered_pkts"] = found.bursts.longest;
      report["burst_pkts"] = found.bursts.bursts;
      report["bursts"] = SpreadJson(BurstsOf(found));
      break;
  }
  return report;
}

}  // namespace sluice::pktgen
