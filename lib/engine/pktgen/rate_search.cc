// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pktgen/rate_search.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

namespace sluice::engine::pktgen {
namespace {

constexpr double kFirstShare = 1.0 / 1024;
constexpr double kLastShare = 1.0 / (1 << 20);  // A device that fails below it carries nothing.
// A rate is judged when so many more trials passed than failed, or the other way round: Wald's
// sequential test (Annals of Mathematical Statistics 16, 1945). If one trial errs with the
// probability e, this does with 1 / (1 + ((1 - e) / e)^kLead).
constexpr int kLead = 3;
constexpr int kLeadOfMoved = 5;  // Of an end that was moved: more tries find more luck.
// A host that disturbs so many trials in a row is no place to measure.
constexpr int kMostDisturbed = 10;
constexpr double kMinConfidence = 0.9;  // Below it there is no verdict.
constexpr double kWidest = 1.25;        // The upper end over the lower one; above it there is none.

class Searcher {
 public:
  Searcher(const RateSearch& search, Measure measure)
      : search_(search),
        measure_(measure),
        ceiling_(std::min(search.max_pps, search.generator_pps)) {}

  FoundRate Run() {
    Ramp();
    Close([this](double rate) { return Probe(rate); });
    Settle();
    Close([this](double rate) { return Holds(rate); });
    return Report(Confirm());
  }

 private:
  struct Votes {
    int passed = 0, failed = 0;
    int starved = 0;  // Of those failed: the generator could not send.
  };

  // Whether the rate passed. Nothing, now and ever after, once the search has ended.
  std::optional<bool> RunTrial(double rate, double duration_s) {
    for (int disturbed = 0; !stopped_ && !exhausted_; ++disturbed) {
      if (disturbed == kMostDisturbed || found_.trials.size() >= search_.max_trials) {
        exhausted_ = true;
        break;
      }
      const Offer offer{rate, duration_s};
      const std::optional<Outcome> outcome = measure_(offer);
      if (!outcome) {
        stopped_ = true;
        break;
      }
      const bool passed = Passes(*outcome);
      found_.trials.push_back({offer, *outcome, passed});
      if (!outcome->disturbed) return passed;
      ++disturbed_;
    }
    return std::nullopt;
  }

  bool Passes(const Outcome& outcome) const {
    const auto sent = static_cast<double>(outcome.offered - outcome.unsent);
    return !outcome.disturbed && !Starved(outcome) &&
           static_cast<double>(outcome.lost) <= search_.tolerated_loss * sent;
  }

  bool Starved(const Outcome& outcome) const { return outcome.Short(search_.tolerated_unsent); }

  std::optional<bool> Probe(double rate) { return RunTrial(rate, search_.probe_s); }

  // By full trials.
  std::optional<bool> Holds(double rate) { return Judge(rate, judged_[rate]); }

  std::optional<bool> Judge(double rate, Votes& votes, int lead = kLead) {
    while (std::abs(votes.passed - votes.failed) < lead) {
      const std::optional<bool> passed = RunTrial(rate, search_.trial_s);
      if (!passed) return std::nullopt;
      ++(*passed ? votes.passed : votes.failed);
      votes.starved += Starved(found_.trials.back().outcome);
    }
    return votes.passed > votes.failed;
  }

  // Makes a rate that was tried an end of the interval. False: the search has ended.
  bool MakeEnd(double rate, std::optional<bool> passed) {
    if (passed) (*passed ? low_ : high_) = rate;
    return passed.has_value();
  }

  // From a rate that every device carries to the first that fails.
  void Ramp() {
    for (double rate = ceiling_ * kFirstShare; low_ == 0; rate /= 2) {
      if (rate <= ceiling_ * kLastShare || !MakeEnd(rate, Probe(rate))) return;
    }
    while (high_ == 0 && low_ < ceiling_) {
      const double next = std::min(2 * low_, ceiling_);
      if (!MakeEnd(next, Probe(next))) return;
    }
  }

  bool Narrow() const { return high_ == 0 || low_ == 0 || high_ <= low_ * (1 + search_.precision); }

  template <typename Passes>
  void Close(const Passes& passes) {
    while (!Narrow()) {
      const double middle = std::sqrt(low_ * high_);
      if (!MakeEnd(middle, passes(middle))) return;
    }
  }

  // Judges both ends: what a probe missed because loss starts late lies lower, what it lost to
  // noise higher.
  void Settle() {
    double step = search_.precision;
    while (low_ != 0 && Holds(low_) == false) {
      high_ = low_;
      low_ = low_ / (1 + step);
      if (low_ < ceiling_ * kLastShare) low_ = 0;
      step *= 2;
    }
    step = search_.precision;
    while (high_ != 0 && Holds(high_) == true) {
      low_ = high_;
      high_ = low_ < ceiling_ ? std::min(low_ * (1 + step), ceiling_) : 0;
      step *= 2;
    }
  }

  // Judges both ends anew: the search went where trials let it, lucky ones too. An end that does
  // not hold moves away from the other, so that the interval is as wide as the rate wanders.
  bool Confirm() {
    int lead = kLead;
    for (double step = search_.precision; low_ == 0 || high_ <= kWidest * low_; step *= 2) {
      Votes low, high;
      const std::optional<bool> low_passes = low_ == 0 ? true : Judge(low_, low, lead);
      const std::optional<bool> high_passes = high_ == 0 ? false : Judge(high_, high, lead);
      if (!low_passes || !high_passes) return false;
      starved_above_ = 2 * high.starved > high.failed;
      if (*low_passes && !*high_passes) return CoverPassed();
      lead = kLeadOfMoved;
      if (!*low_passes) {
        if (high_ == 0) high_ = low_;
        low_ /= 1 + step;
      }
      if (*high_passes) {
        if (high_ == ceiling_) return false;
        high_ = std::min(high_ * (1 + step), ceiling_);
      }
    }
    return false;
  }

  // A full trial that passed above the interval was no accident, as one that failed below may be:
  // the rate wanders so far, and as far below.
  bool CoverPassed() {
    double top = high_;
    for (const auto& [offer, outcome, passed] : found_.trials) {
      if (passed && offer.duration_s == search_.trial_s) top = std::max(top, offer.rate_pps);
    }
    if (high_ == 0 || top == high_) return true;
    low_ *= high_ / top;
    high_ = top;
    return high_ <= kWidest * low_;
  }

  // How often a trial goes against the ends: fails at or below the low one, passes at or above the
  // high one, where a probe may pass because it is short. Jeffreys' estimate, so that few trials do
  // not look certain.
  double Contradictions() const {
    int against = 0, all = 0;
    for (const auto& [offer, outcome, passed] : found_.trials) {
      if (outcome.disturbed) continue;
      const bool below = offer.rate_pps <= low_;
      const bool above =
          high_ != 0 && offer.rate_pps >= high_ && offer.duration_s == search_.trial_s;
      all += below || above;
      against += (below && !passed) || (above && passed);
    }
    return (against + 0.5) / (all + 1);
  }

  FoundRate Report(bool confirmed) {
    found_.low_pps = low_;
    found_.high_pps = high_ == 0 ? low_ : high_;
    const double error = Contradictions();
    const double wrong = 1 / (1 + std::pow((1 - error) / error, kLead));
    const double confidence = 1 - (high_ == 0 ? 1 : 2) * wrong;
    if (!confirmed || exhausted_ || 2 * disturbed_ > found_.trials.size() ||
        confidence < kMinConfidence) {
      found_.limit = stopped_ ? RateLimit::kStopped : RateLimit::kNoise;
      return std::move(found_);
    }
    found_.confidence = confidence;
    if (starved_above_) {
      found_.limit = RateLimit::kGenerator;
    } else if (high_ != 0) {
      found_.limit = RateLimit::kDevice;
    } else {
      found_.limit =
          search_.generator_pps < search_.max_pps ? RateLimit::kGenerator : RateLimit::kLine;
    }
    return std::move(found_);
  }

  const RateSearch& search_;
  Measure measure_;
  const double ceiling_;
  FoundRate found_;
  std::map<double, Votes> judged_;
  double low_ = 0, high_ = 0;   // high_ == 0: nothing failed yet.
  bool starved_above_ = false;  // Above the interval it was the generator that failed.
  size_t disturbed_ = 0;
  bool exhausted_ = false;  // Of trials, or of patience with the host.
  bool stopped_ = false;    // By who measures.
};

}  // namespace

std::string_view NameOf(RateLimit limit) {
  switch (limit) {
    case RateLimit::kDevice:
      return "device";
    case RateLimit::kLine:
      return "line";
    case RateLimit::kGenerator:
      return "generator";
    case RateLimit::kNoise:
      return "noise";
    case RateLimit::kStopped:
      return "stopped";
  }
  return "";
}

FoundRate FindRate(const RateSearch& search, Measure measure) {
  return Searcher(search, measure).Run();
}

}  // namespace sluice::engine::pktgen
