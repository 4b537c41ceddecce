// SPDX-License-Identifier: BSD-3-Clause
//
// Which item a request is for: uniform, or Zipf's law.
#pragma once

#include <cstdint>

#include "engine/workload/random.h"

namespace sluice::engine::workload {

/// Item i (0 …) of `items` with a probability proportional to 1 / (i + 1)^exponent, exactly but
/// for the rounding of doubles, in constant time and memory: rejection-inversion (Hörmann and
/// Derflinger, ACM TOMACS 6(3), 1996). Exponent 0 is uniform.
class Popularity {
 public:
  /// `items` ≥ 1, at most 2^52; `exponent` ≥ 0.
  Popularity(uint64_t items, double exponent);

  uint64_t Draw(Random& random) const {
    return exponent_ == 0 ? random.Below(items_) : DrawZipf(random);
  }

 private:
  uint64_t DrawZipf(Random& random) const;
  double Density(double x) const;
  double Integral(double x) const;  // Of the density, from 1 to x.
  double InverseIntegral(double y) const;

  uint64_t items_;
  double exponent_;
  double first_ = 0, last_ = 0;  // The integral is drawn between these.
  double squeeze_ = 0;           // Draws this close below an integer need no further test.
};

}  // namespace sluice::engine::workload
