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
// Minimum rate, as a share of the ceiling. The search ends if the device fails even at this rate.
constexpr double kLastShare = 1.0 / (1 << 20);
// The verdict on a rate is final when the counts of passed and failed full trials differ by this
// number.
constexpr int kLead = 3;
// Maximum number of consecutive disturbed trials. A host that disturbs more trials is not usable
// for measurements.
constexpr int kMostDisturbed = 10;
constexpr double kConfidence = 0.95;
constexpr double kStepGrowth = 1.5;  // Growth factor of the distance by which an end moves.
constexpr double kWidest = 1.25;     // Maximum ratio of the ends; above it, there is no verdict.

// Bets, at even odds, that a trial at the lower end of the interval passes, or that a trial at the
// upper end fails. If at least half of all trials at this rate have the opposite result, the
// probability that the capital reaches g times its initial value is at most 1 / g, regardless of
// the number of bets (Ville's inequality; Shafer et al., Test martingales, Bayes factors and
// p-values, Statistical Science 26, 2011).
struct Bets {
  int won = 0, lost = 0;

  double Gain() const {
    double gain = 0;
    // Shares of the capital that are staked. One half of the capital is staked for ends at which
    // nearly all trials agree, the other half for ends at which results vary.
    for (const double stake : {0.9, 0.5}) {
      gain += 0.5 * std::pow(1 + stake, won) * std::pow(1 - stake, lost);
    }
    return gain;
  }
  // Returns whether at least three bets, and more than a third of all bets, were lost. Proving an
  // end further out then needs fewer trials.
  bool Hopeless() const { return lost >= 3 && won < 2 * lost; }
};

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
    return Report(Prove());
  }

 private:
  struct Votes {
    int passed = 0, failed = 0;
  };
  // An end of the interval, and the bets on it.
  struct End {
    Bets bets;
    int tried = 1;    // Number of rates that this end has had, including the current one.
    int starved = 0;  // Number of bets in which the generator could not send all frames.

    // The n-th rate may use a share of 1 / (n (n + 1)) of this end's error probability; all shares
    // add up to 1.
    bool Proven() const { return bets.Gain() >= 2 / (1 - kConfidence) * tried * (tried + 1); }
    // Like Proven, but without the trials in which the generator could not send all frames.
    bool ProvenWithoutStarved() const {
      End other = *this;
      other.bets.won -= starved;
      return other.Proven();
    }
    void Move() { *this = {.bets = {}, .tried = tried + 1, .starved = 0}; }
  };

  // Runs trials until one is undisturbed, and returns whether it passed; nullopt if the search has
  // ended.
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

  // Repeats full trials until the counts of passed and failed trials differ by kLead. Returns
  // whether more trials passed; nullopt if the search has ended.
  std::optional<bool> Holds(double rate) {
    Votes& votes = judged_[rate];
    while (std::abs(votes.passed - votes.failed) < kLead) {
      const std::optional<bool> passed = RunTrial(rate, search_.trial_s);
      if (!passed) return std::nullopt;
      ++(*passed ? votes.passed : votes.failed);
    }
    return votes.passed > votes.failed;
  }

  // Makes `rate`, which was tried with the result `passed`, an end of the interval. Returns false
  // if the search has ended.
  bool MakeEnd(double rate, std::optional<bool> passed) {
    if (passed) (*passed ? low_ : high_) = rate;
    return passed.has_value();
  }

  // Halves a low rate until it passes. Then doubles it until a rate fails or the ceiling itself
  // passes.
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

  // Checks both ends with full trials. The lower end decreases if probes missed loss that starts
  // late; the upper end increases if a probe lost frames due to noise.
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

  // Bets on both ends in turn. Earlier trials do not count, because their random results steered
  // the search. An end that trials contradict moves outwards, so that the interval covers the range
  // in which the rate varies. Returns false if there is no verdict.
  bool Prove() {
    double step = search_.precision;
    while (low_ == 0 || high_ <= kWidest * low_) {
      const bool low_is_open = low_ != 0 && !lower_.Proven();
      const bool high_is_open = high_ != 0 && !upper_.Proven();
      if (!low_is_open && !high_is_open) return true;
      if (low_is_open && !Bet(low_, true, lower_)) return false;
      if (high_is_open && !Bet(high_, false, upper_)) return false;
      if (low_is_open && lower_.bets.Hopeless()) {
        if (high_ == 0) high_ = low_;
        low_ /= 1 + step;
        if (low_ < ceiling_ * kLastShare) low_ = 0;
        lower_.Move();
        step *= kStepGrowth;
      }
      if (high_is_open && upper_.bets.Hopeless()) {
        if (high_ == ceiling_) return false;
        high_ = std::min(high_ * (1 + step), ceiling_);
        upper_.Move();
        step *= kStepGrowth;
      }
    }
    return false;
  }

  // Runs one trial at `rate`. Counts the bet of `end` as won if the trial passes and `claim` is
  // true, or if it fails and `claim` is false; otherwise, counts the bet as lost. Returns false if
  // the search has ended.
  bool Bet(double rate, bool claim, End& end) {
    const std::optional<bool> passed = RunTrial(rate, search_.trial_s);
    if (!passed) return false;
    ++(*passed == claim ? end.bets.won : end.bets.lost);
    end.starved += Starved(found_.trials.back().outcome);
    return true;
  }

  FoundRate Report(bool proven) {
    found_.low_pps = low_;
    found_.high_pps = high_ == 0 ? low_ : high_;
    if (!proven || exhausted_ || stopped_ || 2 * disturbed_ > found_.trials.size()) {
      found_.limit = stopped_ ? RateLimit::kStopped : RateLimit::kNoise;
      return std::move(found_);
    }
    found_.confidence = kConfidence;
    if (high_ != 0 && !upper_.ProvenWithoutStarved()) {
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
  double low_ = 0, high_ = 0;  // high_ == 0: no rate has failed yet.
  End lower_, upper_;
  size_t disturbed_ = 0;
  bool exhausted_ = false;  // No trials left, or too many were disturbed.
  bool stopped_ = false;    // Stopped by the Measure function.
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
