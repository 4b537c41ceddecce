// SPDX-License-Identifier: BSD-3-Clause
//
// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014); yields the same numbers on every machine.
#pragma once

#include <cstdint>

namespace sluice::engine::workload {

/// Permutes the 64-bit numbers so that each input bit affects all output bits.
constexpr uint64_t Mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() { return Mix(state_ += 0x9e3779b97f4a7c15); }
  /// Returns a multiple of 2^-53 in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  /// Returns a number in [0, bound). The bias is below bound / 2^64.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(Next()) * bound >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace sluice::engine::workload
