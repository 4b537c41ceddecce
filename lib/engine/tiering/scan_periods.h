// SPDX-License-Identifier: BSD-3-Clause
//
// A region's scan period, learnt. A scan is good if it tells pages apart: neither found it nothing
// new (too fast) nor nearly every page accessed (too slow). Of the fastest arm, too slow is the
// workload's fault, and of the slowest, too fast: both count as good, or idle and very busy
// regions would have no arm that is.
//
// What a slow arm finds is the union of what fast scans find, so a region that is scanned at the
// full rate tells about every arm. From that the model is validated: the regret of a region is by
// how much its best arm, in hindsight, would have done better than the one that the model holds for
// best.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <random>

#include "engine/tiering/abi.h"
#include "engine/tiering/bandit.h"

namespace sluice::engine::tiering {

/// Shares of a region's mapped pages, between which a scan is good.
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
  /// The arm that is played.
  uint32_t arm() const { return arm_; }
  const Bandit& bandit() const { return bandit_; }
  /// Learns nothing of its arm, but of all, in this epoch.
  bool at_full_rate() const { return full_rate_; }
  uint32_t epochs() const { return epochs_; }

  /// An epoch begins. `full_rate`: whatever the model says, everything is scanned.
  void Begin(bool full_rate, std::mt19937_64& random) {
    full_rate_ = full_rate;
    arm_ = full_rate ? 0 : bandit_.Choose(random);
    believed_ = bandit_.Best();
    every_ = {};
  }
  /// The epoch is over.
  void End(float keep) {
    bandit_.Fade(keep);
    ++epochs_;
  }
  /// Everything learnt is forgotten.
  void Forget() {
    bandit_ = {};
    epochs_ = 0;
  }

  void Learn(const ScanRecord& record, const GoodScan& good) {
    if (!full_rate_) {
      // Begun under another arm: tells nothing of this one.
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

  /// Of an epoch at the full rate, 0 … 1.
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
    uint64_t accessed = 0;  ///< Since this arm would last have scanned.
    uint16_t scans = 0;
    uint16_t trials = 0;
    uint16_t successes = 0;
  };

  Bandit bandit_;
  std::array<Tried, kArms> every_{};
  uint32_t epochs_ = 0;
  uint8_t arm_ = 0;
  uint8_t believed_ = 0;  ///< The best arm, as the epoch began.
  bool full_rate_ = false;
};

}  // namespace sluice::engine::tiering
