// SPDX-License-Identifier: BSD-3-Clause
//
// A histogram of metric values with 16 buckets per power of two, so that the error of a percentile
// is below 3.2 %. The range is 2^-20 to 2^44; the size is about 8 KiB.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sluice::engine::logmon {

class ValueHistogram {
 public:
  /// Records a finite value. Values below the range, including negative ones and zero, share one
  /// bucket, which is reported as the minimum. Values above the range share another bucket, which
  /// is reported as the maximum.
  void Record(double value) {
    ++counts_[IndexOf(value)];
    min_ = count_ == 0 ? value : std::min(min_, value);
    max_ = count_ == 0 ? value : std::max(max_, value);
    ++count_;
  }

  void Merge(const ValueHistogram& other) {
    if (other.count_ == 0) return;
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
    max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
    count_ += other.count_;
  }

  uint64_t count() const { return count_; }

  /// Returns the smallest value v for which at least a fraction `share` (0 … 1) of all values is at
  /// most v (nearest rank), approximated by the middle of its bucket; 0 without values.
  double Percentile(double share) const {
    const auto rank = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_)));
    uint64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen == 0 || seen < rank) continue;
      if (i == 0) return min_;
      if (i == counts_.size() - 1) return max_;
      return std::clamp(MiddleOf(i), min_, max_);
    }
    return 0;
  }

 private:
  static constexpr int kPerPower = 16;
  static constexpr int kMinPower = -20, kMaxPower = 44;
  // The first bucket is for values below the range, the last for values above it.
  static constexpr size_t kBuckets = size_t{(kMaxPower - kMinPower) * kPerPower} + 2;

  static size_t IndexOf(double value) {
    if (value < std::ldexp(1.0, kMinPower)) return 0;
    if (value >= std::ldexp(1.0, kMaxPower)) return kBuckets - 1;
    int power = 0;
    const double fraction = std::frexp(value, &power);  // 0.5 … 1, times 2^power.
    const int within = static_cast<int>((fraction - 0.5) * 2 * kPerPower);
    return static_cast<size_t>((power - 1 - kMinPower) * kPerPower + within) + 1;
  }
  static double MiddleOf(size_t index) {
    const int bucket = static_cast<int>(index) - 1;
    const double fraction = 1 + (bucket % kPerPower + 0.5) / kPerPower;
    return std::ldexp(fraction, bucket / kPerPower + kMinPower);
  }

  std::array<uint64_t, kBuckets> counts_ = {};
  uint64_t count_ = 0;
  double min_ = 0, max_ = 0;
};

}  // namespace sluice::engine::logmon
