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
// Full trials that guide the search decide when so many more say one thing than the other.
constexpr int kLead = 3;
// A host that disturbs so many trials in a row is no place to measure.
constexpr int kMostDisturbed = 10;
constexpr double kConfidence = 0.95;
constexpr double kStepGrowth = 1.5;  // Of the distance by which an end moves.
constexpr double kWidest = 1.25;  // The upper end over the lower one; above it there is no verdict.

// Bets at even odds that a trial at the lower end of the interval passes, or that one at the upper
// end fails. If at least half of all trials there do otherwise, the capital ever grows to g times
// what it was with a probability of at most 1 / g, however long the bets go on (Ville's inequality;
// Shafer et al., Test martingales, Bayes factors and p-values, Statistical Science 26, 2011).
struct Bets {
  int won = 0, lost = 0;

  double Gain() const {
    double gain = 0;
    // Shares of the capital that are staked: half of it bets for clear ends, half for soft ones.
    for (const double stake : {0.9, 0.5}) {
      gain += 0.5 * std::pow(1 + stake, won) * std::pow(1 - stake, lost);
    }
    return gain;
  }
  // More than a third of the bets were lost: an end further out needs fewer trials.
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
  // An end of the interval that is to be proven.
  struct End {
    Bets bets;
    int tried = 1;    // Rates, this one included.
    int starved = 0;  // Of the bets: the generator could not send.

    // The n-th rate may err with a share of 1 / (n (n + 1)) of what the confidence leaves to this
    // end; the sum of all shares is 1.
    bool Proven() const { return bets.Gain() >= 2 / (1 - kConfidence) * tried * (tried + 1); }
    // The same by the trials alone in which the generator sent all frames.
    bool ProvenWithoutStarved() const {
      End other = *this;
      other.bets.won -= starved;
      return other.Proven();
    }
    void Move() { *this = {.bets = {}, .tried = tried + 1, .starved = 0}; }
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
  std::optional<bool> Holds(double rate) {
    Votes& votes = judged_[rate];
    while (std::abs(votes.passed - votes.failed) < kLead) {
      const std::optional<bool> passed = RunTrial(rate, search_.trial_s);
      if (!passed) return std::nullopt;
      ++(*passed ? votes.passed : votes.failed);
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

  // Bets on both ends in turn. Earlier trials do not count: the search went where they let it,
  // lucky ones too. An end that does not hold moves away from the other one, so that the interval
  // is as wide as the rate wanders. Returns false if there is no verdict.
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

  // Runs one trial. Returns false if the search has ended.
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
  double low_ = 0, high_ = 0;  // high_ == 0: nothing failed yet.
  End lower_, upper_;
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
