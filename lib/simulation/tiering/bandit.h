// SPDX-License-Identifier: BSD-3-Clause
//
// Thompson sampling (Thompson, Biometrika 25, 1933) over arms that succeed or fail. The success
// probability of each arm has the distribution Beta(alpha, beta). One value is drawn for each arm,
// and the arm with the largest value is chosen. Thus the probability of choosing an arm is the
// probability that it is the best.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

#include "simulation/tiering/abi.h"

namespace sluice::simulation::tiering {

class Bandit {
 public:
  /// Returns the arm to use.
  uint32_t Choose(std::mt19937_64& random) const {
    uint32_t best = 0;
    double most = -1;
    for (uint32_t arm = 0; arm != kArms; ++arm) {
      const double chance = Beta(alpha_[arm], beta_[arm], random);
      if (chance > most) {
        most = chance;
        best = arm;
      }
    }
    return best;
  }
  void Reward(uint32_t arm, bool success) { (success ? alpha_ : beta_)[arm] += 1; }
  /// Multiplies the evidence by `share`, because the best arm may change over time.
  void Fade(float share) {
    for (uint32_t arm = 0; arm != kArms; ++arm) {
      alpha_[arm] = 1 + (alpha_[arm] - 1) * share;
      beta_[arm] = 1 + (beta_[arm] - 1) * share;
    }
  }

  double Mean(uint32_t arm) const { return alpha_[arm] / (alpha_[arm] + beta_[arm]); }
  /// Returns the arm with the largest mean.
  uint32_t Best() const {
    uint32_t best = 0;
    for (uint32_t arm = 1; arm != kArms; ++arm) {
      if (Mean(arm) > Mean(best)) best = arm;
    }
    return best;
  }

 private:
  static double Beta(double alpha, double beta, std::mt19937_64& random) {
    const double x = std::gamma_distribution<double>(alpha)(random);
    const double y = std::gamma_distribution<double>(beta)(random);
    return x / std::max(x + y, 1e-300);
  }

  static constexpr std::array<float, kArms> Ones() {
    std::array<float, kArms> ones{};
    ones.fill(1);
    return ones;
  }
  std::array<float, kArms> alpha_ = Ones();  ///< Both 1: a uniform distribution.
  std::array<float, kArms> beta_ = Ones();
};

}  // namespace sluice::simulation::tiering
