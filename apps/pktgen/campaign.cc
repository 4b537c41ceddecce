// SPDX-License-Identifier: BSD-3-Clause
#include "campaign.h"

#include <absl/strings/str_format.h>
#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace sluice::pktgen {

namespace {

using engine::pktgen::FoundRate;
using engine::pktgen::LayerOneBits;
using engine::pktgen::Offer;
using engine::pktgen::Outcome;
using engine::pktgen::Phase;
using engine::pktgen::StreamSpec;
using Test = Rfc2544::Test;

// Number of consecutive trials with a link failure after which the test ends without a verdict.
constexpr uint32_t kTrialsOnBadLink = 5;

// Returns whether workers' pauses explain the frames that a trial lost or did not send. Frames that
// fell due during a pause were sent as a burst, which is not the requested traffic. A trial that
// passed is nevertheless valid.
bool ExplainedByPauses(const Offer& offer, const Outcome& outcome, uint64_t paused_ps) {
  const double late = offer.rate_pps * static_cast<double>(paused_ps) / 1e12;
  const auto missing = static_cast<double>(outcome.lost + outcome.unsent);
  return missing > 0 && paused_ps > 0 && missing <= late + 1;
}

double MeanBits(const StreamSpec& stream) {
  const engine::pktgen::FrameSet& frames = *stream.captured;
  const auto count = static_cast<double>(frames.size());
  return static_cast<double>(LayerOneBits(0)) +
         8 * static_cast<double>(frames.layer_two_bytes()) / count;
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
  found_.line_pps = static_cast<double>(generator.line_bps()) / bits;
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
      found_.rate = FindRate(measure);
      break;
    case Test::kLatency:
      found_.rate = FindRate(measure);
      if (!stopped) MeasureLatency(measure);
      break;
    case Test::kLoss:
      found_.losses =
          engine::pktgen::FrameLossRate(found_.line_pps, test_.trial_s, test_.repeats, measure);
      break;
    case Test::kBackToBack:
      found_.bursts =
          engine::pktgen::LongestBursts(found_.line_pps, test_.trial_s, test_.repeats, measure);
      break;
  }
  if (!stopped) found_.unfinished.clear();
  over_.store(true, std::memory_order_release);
}

FoundRate Campaign::FindRate(engine::pktgen::Measure measure) const {
  const double known = test_.generator_pps > 0 ? test_.generator_pps : found_.line_pps;
  return engine::pktgen::FindRate({.max_pps = found_.line_pps,
                                   .generator_pps = known,
                                   .tolerated_loss = test_.tolerated_loss,
                                   .precision = test_.precision,
                                   .trial_s = test_.trial_s,
                                   .probe_s = test_.probe_s},
                                  measure);
}

void Campaign::MeasureLatency(engine::pktgen::Measure measure) {
  for (uint32_t i = 0; i < test_.repeats && found_.rate.low_pps > 0; ++i) {
    const std::optional<Outcome> outcome = measure({found_.rate.low_pps, test_.trial_s});
    if (!outcome) return;
    if (outcome->offered > 0) found_.latencies.push_back(latency_);
  }
}

std::optional<Outcome> Campaign::RunTrial(const Offer& offer) {
  for (uint32_t i = 0; i < kTrialsOnBadLink; ++i) {
    for (int ms = 0; ms < 1000 * Generator::kLinkPatienceS; ++ms) {
      if (generator_.link_up() || cancelled_) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (cancelled_) return std::nullopt;
    link_losses_ = generator_.link_losses();
    const std::optional<Outcome> outcome = TryTrial(offer);
    if (outcome || cancelled_ || LinkKept()) return outcome;
  }
  found_.unfinished = absl::StrFormat("the link was down in %d trials in a row", kTrialsOnBadLink);
  return std::nullopt;
}

std::optional<Outcome> Campaign::TryTrial(const Offer& offer) {
  const auto end_ps = static_cast<uint64_t>(std::llround(offer.duration_s * 1e12));
  std::vector<StreamSpec> streams = generator_.settings().streams;
  for (size_t i = 0; i < streams.size(); ++i) {
    streams[i].phases = {Phase{
        0,
        end_ps,
        {engine::pktgen::Rate::Unit::kPackets, std::max(offer.rate_pps * shares_[i], 0.001)}}};
  }
  std::string error;
  const std::unique_ptr<Round> round = generator_.Begin(streams, end_ps, &error);
  if (round == nullptr) {
    found_.unfinished = error;
    return std::nullopt;
  }
  generator_.Gather();
  round->Start(rte_rdtsc());
  while (!round->Over(rte_rdtsc()) && LinkKept() && !cancelled_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // A cancelled trial does not wait for its frames in flight.
  if (!cancelled_) round->Settle();
  generator_.End();
  if (cancelled_) return std::nullopt;
  if (!LinkKept()) {
    const std::scoped_lock lock(mutex_);
    latest_ = "was discarded because the link was down";
    return std::nullopt;
  }
  const engine::pktgen::TrialResult result = round->Finish(generator_.TakenBack());
  const engine::pktgen::StreamResult sum = result.Sum();
  Outcome outcome{
      .offered = sum.sent + sum.unsent,
      .unsent = sum.unsent,
      .lost = sum.lost + sum.corrupted,
      .overrun_s = static_cast<double>(result.last_ps - std::min(result.last_ps, end_ps)) / 1e12};
  outcome.disturbed = ExplainedByPauses(offer, outcome, round->paused_ps());
  latency_ = sum.latency;
  found_.foreign += result.others;
  const std::scoped_lock lock(mutex_);
  ++trials_;
  latest_ = absl::StrFormat("%.6g Mpps for %.3g s: lost %d, unsent %d of %d%s",
                            offer.rate_pps / 1e6, offer.duration_s, outcome.lost, outcome.unsent,
                            outcome.offered, outcome.disturbed ? ", disturbed" : "");
  return outcome;
}

std::string Campaign::Line() const {
  const std::scoped_lock lock(mutex_);
  return absl::StrFormat("          trial %d: %s", trials_ + 1,
                         latest_.empty() ? "the first one" : "the last one " + latest_);
}

}  // namespace sluice::pktgen
