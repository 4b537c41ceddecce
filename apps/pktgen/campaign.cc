// SPDX-License-Identifier: BSD-3-Clause
#include "campaign.h"

#include <absl/strings/str_format.h>
#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "views.h"

namespace sluice::pktgen {

namespace {

using engine::pktgen::FoundRate;
using engine::pktgen::LayerOneBits;
using engine::pktgen::Offer;
using engine::pktgen::Outcome;
using engine::pktgen::Phase;
using engine::pktgen::RateLimit;
using engine::pktgen::StreamSpec;
using engine::workload::Histogram;
using Json = nlohmann::ordered_json;
using Test = Rfc2544::Test;

// Whether pauses of workers explain what a trial lost or did not send: what was due in them came as
// bursts, which is another trial than was asked for. What passed nevertheless, passed.
bool ExplainedByPauses(const Offer& offer, const Outcome& outcome, uint64_t paused_ps) {
  const double late = offer.rate_pps * static_cast<double>(paused_ps) / 1e12;
  const auto missing = static_cast<double>(outcome.lost + outcome.unsent);
  return missing > 0 && paused_ps > 0 && missing <= late + 1;
}

double Mpps(double pps) { return pps / 1e6; }

double MeanBits(const StreamSpec& stream) {
  const engine::pktgen::FrameSet& frames = *stream.captured;
  const auto count = static_cast<double>(frames.size());
  return static_cast<double>(LayerOneBits(0)) +
         8 * static_cast<double>(frames.layer_two_bytes()) / count;
}

Json OutcomeJson(const Offer& offer, const Outcome& outcome) {
  return {{"offered_pps", offer.rate_pps},   {"duration_s", offer.duration_s},
          {"offered_pkts", outcome.offered}, {"unsent_pkts", outcome.unsent},
          {"lost_pkts", outcome.lost},       {"disturbed", outcome.disturbed}};
}

}  // namespace

Campaign::Campaign(Generator& generator)
    : generator_(generator), test_(*generator.settings().rfc2544) {
  double sum = 0;
  for (const StreamSpec& stream : generator.settings().streams) {
    shares_.push_back(stream.phases[0].rate.value);
    sum += shares_.back();
  }
  double bits = 0;
  for (size_t i = 0; i < shares_.size(); ++i) {
    shares_[i] /= sum;
    bits += shares_[i] * MeanBits(generator.settings().streams[i]);
  }
  line_pps_ = static_cast<double>(generator.line_bps()) / bits;
}

void Campaign::Cancel() {
  cancelled_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void Campaign::Run() {
  bool stopped = false;
  const auto measure = [this, &stopped](const Offer& offer) {
    const std::optional<Outcome> outcome = RunTrial(offer);
    stopped = !outcome;
    return outcome;
  };
  switch (test_.test) {
    case Test::kThroughput:
      rate_ = FindRate(measure);
      break;
    case Test::kLatency:
      rate_ = FindRate(measure);
      if (!stopped) MeasureLatency(measure);
      break;
    case Test::kLoss:
      losses_ = engine::pktgen::FrameLossRate(line_pps_, test_.trial_s, measure);
      break;
    case Test::kBackToBack:
      bursts_ = engine::pktgen::LongestBursts(line_pps_, test_.trial_s, test_.repeats, measure);
      break;
  }
  complete_ = !stopped;
  over_.store(true, std::memory_order_release);
}

FoundRate Campaign::FindRate(engine::pktgen::Measure measure) const {
  const double known = test_.generator_pps > 0 ? test_.generator_pps : line_pps_;
  return engine::pktgen::FindRate({.max_pps = line_pps_,
                                   .generator_pps = known,
                                   .tolerated_loss = test_.tolerated_loss,
                                   .precision = test_.precision,
                                   .trial_s = test_.trial_s,
                                   .probe_s = test_.probe_s},
                                  measure);
}

void Campaign::MeasureLatency(engine::pktgen::Measure measure) {
  for (uint32_t i = 0; i < test_.repeats && rate_.low_pps > 0; ++i) {
    const std::optional<Outcome> outcome = measure({rate_.low_pps, test_.trial_s});
    if (!outcome) return;
    if (outcome->offered > 0) latencies_.push_back(latency_);
  }
}

std::optional<Outcome> Campaign::RunTrial(const Offer& offer) {
  if (cancelled_) return std::nullopt;
  const auto end_ps = static_cast<uint64_t>(std::llround(offer.duration_s * 1e12));
  std::vector<StreamSpec> streams = generator_.settings().streams;
  for (size_t i = 0; i < streams.size(); ++i) {
    streams[i].phases = {Phase{
        0,
        end_ps,
        {engine::pktgen::Rate::Unit::kPackets, std::max(offer.rate_pps * shares_[i], 0.001)}}};
  }
  const std::unique_ptr<Round> round = generator_.Begin(streams, end_ps, &error_);
  if (round == nullptr) {
    cancelled_ = true;
    return std::nullopt;
  }
  generator_.Gather();
  round->Start(rte_rdtsc());
  while (!round->Over(rte_rdtsc()) && !cancelled_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  round->Settle();
  generator_.End();
  if (cancelled_) return std::nullopt;
  const engine::pktgen::TrialResult result = round->Finish(generator_.TakenBack());
  const engine::pktgen::StreamResult sum = result.Sum();
  Outcome outcome{
      .offered = sum.sent + sum.unsent, .unsent = sum.unsent, .lost = sum.lost + sum.corrupted};
  outcome.disturbed = ExplainedByPauses(offer, outcome, round->paused_ps());
  latency_ = sum.latency;
  foreign_ += result.others;
  const std::scoped_lock lock(mutex_);
  ++trials_;
  latest_ = absl::StrFormat("%.6g Mpps for %.3g s: lost %d, unsent %d of %d%s",
                            Mpps(offer.rate_pps), offer.duration_s, outcome.lost, outcome.unsent,
                            outcome.offered, outcome.disturbed ? ", disturbed" : "");
  return outcome;
}

std::string Campaign::Line() const {
  const std::scoped_lock lock(mutex_);
  return absl::StrFormat("          trial %d: %s", trials_ + 1,
                         latest_.empty() ? "the first one" : "the last one " + latest_);
}

bool Campaign::HasVerdict(std::string* why) const {
  *why = !error_.empty() ? error_ : complete_ ? "" : "stopped before its end";
  const bool searched = test_.test == Test::kThroughput || test_.test == Test::kLatency;
  if (why->empty() && searched && rate_.limit == RateLimit::kNoise) {
    *why =
        "trials contradict each other, or the host disturbed them: give it longer trials or a "
        "quieter host";
  }
  return why->empty();
}

std::string Campaign::Totals() const {
  std::string text = "rfc2544 " + std::string(NameOf(test_.test)) + ": ";
  switch (test_.test) {
    case Test::kThroughput:
    case Test::kLatency:
      absl::StrAppendFormat(&text, "%.6g to %.6g Mpps, limit: %s, confidence %.3f, %d trials\n",
                            Mpps(rate_.low_pps), Mpps(rate_.high_pps), NameOf(rate_.limit),
                            rate_.confidence, rate_.trials.size());
      if (!latencies_.empty()) {
        Histogram all;
        for (const Histogram& latency : latencies_) all.Add(latency);
        absl::StrAppendFormat(&text, "latency at %.6g Mpps: mean %.1f  p50 %.1f  p99 %.1f us\n",
                              Mpps(rate_.low_pps), all.mean() / 1e3,
                              static_cast<double>(all.Percentile(0.5)) / 1e3,
                              static_cast<double>(all.Percentile(0.99)) / 1e3);
      }
      break;
    case Test::kLoss:
      text += "\n";
      for (const auto& [percent, outcome] : losses_) {
        absl::StrAppendFormat(&text, "%3d %% of the line: lost %d, unsent %d of %d\n", percent,
                              outcome.lost, outcome.unsent, outcome.offered);
      }
      break;
    case Test::kBackToBack: {
      const auto sum = std::accumulate(bursts_.bursts.begin(), bursts_.bursts.end(), uint64_t{0});
      const size_t count = std::max<size_t>(bursts_.bursts.size(), 1);
      absl::StrAppendFormat(&text, "%.1f frames, mean of %d bursts; the longest offered %d\n",
                            static_cast<double>(sum) / static_cast<double>(count),
                            bursts_.bursts.size(), bursts_.longest);
    }
  }
  return text;
}

Json Campaign::Report() const {
  std::string why;
  Json report{{"test", NameOf(test_.test)}, {"line_pps", line_pps_}};
  report["verdict"] = HasVerdict(&why) ? "" : "none: " + why;
  switch (test_.test) {
    case Test::kThroughput:
    case Test::kLatency:
      report["low_pps"] = rate_.low_pps;
      report["high_pps"] = rate_.high_pps;
      report["limit"] = NameOf(rate_.limit);
      report["confidence"] = rate_.confidence;
      report["tolerated_loss"] = test_.tolerated_loss;
      report["trials"] = Json::array();
      for (const auto& trial : rate_.trials) {
        report["trials"].push_back(OutcomeJson(trial.offer, trial.outcome));
      }
      if (test_.test == Test::kLatency) {
        report["latency_ns"] = Json::array();
        for (const Histogram& latency : latencies_) {
          report["latency_ns"].push_back(LatencyJson(latency));
        }
      }
      break;
    case Test::kLoss:
      report["rates"] = Json::array();
      for (const auto& [percent, outcome] : losses_) {
        Json rate = OutcomeJson({line_pps_ * percent / 100, test_.trial_s}, outcome);
        rate["percent"] = percent;
        report["rates"].push_back(std::move(rate));
      }
      break;
    case Test::kBackToBack:
      report["longest_offered_pkts"] = bursts_.longest;
      report["burst_pkts"] = bursts_.bursts;
      break;
  }
  return report;
}

}  // namespace sluice::pktgen
