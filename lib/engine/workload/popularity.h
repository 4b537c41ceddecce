// SPDX-License-Identifier: BSD-3-Clause
//
// Chooses the item that a request refers to, uniformly or by Zipf's law.
#pragma once

#include <cstdint>

#include "engine/workload/random.h"

namespace sluice::engine::workload {

/// Draws item i (0 …) of `items` with a probability proportional to 1 / (i + 1)^exponent, exact
/// except for rounding. Uses rejection-inversion, which needs constant time and memory (Hörmann and
/// Derflinger, ACM TOMACS 6(3), 1996). An exponent of 0 gives a uniform distribution.
class Popularity {
 public:
  /// `items` must be 1 to 2^52, and `exponent` must not be negative.
  Popularity(uint64_t items, double exponent);

  uint64_t Draw(Random& random) const {
    return exponent_ == 0 ? random.Below(items_) : DrawZipf(random);
  }

 private:
  uint64_t DrawZipf(Random& random) const;
  double Density(double x) const;
  double Integral(double x) const;  // Integral of the density from 1 to x.
  double InverseIntegral(double y) const;

  uint64_t items_;
  double exponent_;
  double first_ = 0, last_ = 0;  // Range of the integral from which values are drawn.
  double squeeze_ = 0;  // Draws within this distance below an integer need no further test.
};

}  // namespace sluice::engine::workload
