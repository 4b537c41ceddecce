// SPDX-License-Identifier: BSD-3-Clause
//
// Random times that are the same on every machine. The standard library's distributions differ
// between implementations.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "fabric/picoseconds.h"

namespace sluice::simulation {

class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}

  /// Returns a number in [0, 1).
  double Uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  /// Returns a number below `limit`, which must be > 0.
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(Uniform() * limit); }
  fabric::Picoseconds Exponential(fabric::Picoseconds mean) {
    return static_cast<fabric::Picoseconds>(-std::log1p(-Uniform()) * static_cast<double>(mean));
  }

 private:
  std::mt19937_64 bits_;
};

/// Distribution of the time that a request occupies a processor.
struct ServiceTime {
  enum class Kind : uint8_t { kFixed, kExponential, kBimodal };
  Kind kind = Kind::kFixed;
  /// The fixed time, the mean, or the short time of kBimodal.
  fabric::Picoseconds time = 10'000'000;
  fabric::Picoseconds long_time = 0;  ///< kBimodal: the long time.
  double long_share = 0;              ///< kBimodal: fraction of requests that take the long time.

  fabric::Picoseconds Draw(Random& random) const {
    switch (kind) {
      case Kind::kFixed:
        return time;
      case Kind::kExponential:
        return random.Exponential(time) + 1;
      case Kind::kBimodal:
        break;
    }
    return random.Uniform() < long_share ? long_time : time;
  }
  double Mean() const {
    const auto common = static_cast<double>(time);
    if (kind != Kind::kBimodal) return common;
    return common + long_share * (static_cast<double>(long_time) - common);
  }
};

}  // namespace sluice::simulation
