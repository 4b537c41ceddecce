// SPDX-License-Identifier: BSD-3-Clause
//
// Learns a region's scan period. A scan is good if it distinguishes pages. It is too fast if it
// found fewer accessed pages than GoodScan::few, and too slow if it found more than GoodScan::many.
// However, "too slow" is good for the fastest arm, and "too fast" is good for the slowest arm;
// otherwise very busy and idle regions would have no good arm.
//
// The result of a slow arm is the union of the results of fast scans, so a region that is scanned
// at the full rate provides data for every arm. Such regions validate the model. The regret of a
// region is the difference between two success rates: that of the best arm in hindsight, and that
// of the arm that the model considered best.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <random>

#include "simulation/tiering/abi.h"
#include "simulation/tiering/bandit.h"

namespace sluice::simulation::tiering {

/// Decides whether a scan is good, that is, whether the fraction of the region's mapped pages that
/// were accessed is in [few, many]. The exceptions for the slowest and fastest arms are described
/// above.
struct GoodScan {
  double few = 0.25;
  double many = 0.75;

  bool operator()(uint32_t arm, uint64_t accessed, uint64_t mapped) const {
    const double pages = std::popcount(mapped);
    const double found = std::popcount(accessed & mapped);
    if (found < few * pages) return arm == kArms - 1;
    if (found > many * pages) return arm == 0;
    return true;
  }
};

class ScanPeriods {
 public:
  /// Returns the arm of this epoch.
  uint32_t arm() const { return arm_; }
  const Bandit& bandit() const { return bandit_; }
  /// Returns whether, in this epoch, the region is scanned at the full rate and learns about all
  /// arms.
  bool at_full_rate() const { return full_rate_; }
  uint32_t epochs() const { return epochs_; }

  /// Begins an epoch. If `full_rate` is set, the fastest arm is used instead of the model's choice.
  void Begin(bool full_rate, std::mt19937_64& random) {
    full_rate_ = full_rate;
    arm_ = full_rate ? 0 : bandit_.Choose(random);
    believed_ = bandit_.Best();
    every_ = {};
  }
  /// Ends the epoch. Reduces the evidence by the factor `keep`.
  void End(float keep) {
    bandit_.Fade(keep);
    ++epochs_;
  }
  /// Discards everything learned.
  void Forget() {
    bandit_ = {};
    epochs_ = 0;
  }

  void Learn(const ScanRecord& record, const GoodScan& good) {
    if (!full_rate_) {
      // The scan began under another arm, so it says nothing about this arm.
      if (record.ticks != PeriodTicks(arm_)) return;
      bandit_.Reward(arm_, good(arm_, record.accessed, record.mapped));
      return;
    }
    if (record.ticks != 1) return;
    for (uint32_t arm = 0; arm != kArms; ++arm) {
      Tried& t = every_[arm];
      t.accessed |= record.accessed;
      if (++t.scans != PeriodTicks(arm)) continue;
      const bool success = good(arm, t.accessed, record.mapped);
      bandit_.Reward(arm, success);
      t.successes += success;
      ++t.trials;
      t.accessed = 0;
      t.scans = 0;
    }
  }

  /// Returns the regret, 0 … 1, of an epoch at the full rate.
  double Regret() const {
    const auto share = [](const Tried& t) {
      return t.trials == 0 ? 0.0 : static_cast<double>(t.successes) / t.trials;
    };
    double best = 0;
    for (const Tried& t : every_) best = std::max(best, share(t));
    return best - share(every_[believed_]);
  }

 private:
  struct Tried {
    uint64_t accessed = 0;  ///< Union of the access bits since this arm's last simulated scan.
    uint16_t scans = 0;
    uint16_t trials = 0;
    uint16_t successes = 0;
  };

  Bandit bandit_;
  std::array<Tried, kArms> every_{};
  uint32_t epochs_ = 0;
  uint8_t arm_ = 0;
  uint8_t believed_ = 0;  ///< The arm that the model considered best when the epoch began.
  bool full_rate_ = false;
};

}  // namespace sluice::simulation::tiering
