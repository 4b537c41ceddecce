// SPDX-License-Identifier: BSD-3-Clause
//
// A histogram of times with 128 buckets per power of two, so that the error of a percentile is
// below 1%. It covers 1 ns to hours in 38 KiB. The buckets are those of HdrHistogram
// (https://hdrhistogram.org) with two significant digits and 1 as the lowest value.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>

namespace sluice::engine::workload {

/// A histogram in which one thread records values. Other threads may call Snapshot and recorded()
/// meanwhile; only one thread may call the other functions.
class Histogram {
 public:
  void Record(uint64_t value) {
    Bump(counts_[IndexOf(value)], uint64_t{1});
    Bump(count_, uint64_t{1});
    Bump(sum_, static_cast<double>(value));
    if (value < min_) std::atomic_ref(min_).store(value, std::memory_order_relaxed);
    if (value > max_) std::atomic_ref(max_).store(value, std::memory_order_relaxed);
  }

  /// Returns an approximate copy of the current state.
  Histogram Snapshot() const {
    Histogram copy;
    for (size_t i = 0; i < counts_.size(); ++i) copy.count_ += copy.counts_[i] = Load(counts_[i]);
    copy.sum_ = Load(sum_);
    copy.min_ = Load(min_);
    copy.max_ = Load(max_);
    return copy;
  }
  /// Like count(), but any thread may call it.
  uint64_t recorded() const { return Load(count_); }
  /// Subtracts an earlier snapshot of the same histogram. The minimum and maximum do not change.
  void Subtract(const Histogram& earlier) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] -= earlier.counts_[i];
    count_ -= earlier.count_;
    sum_ -= earlier.sum_;
  }

  void Add(const Histogram& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
  }

  uint64_t count() const { return count_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }

  /// Returns the smallest value that is not exceeded by a fraction `share` (0 … 1) of all values
  /// (nearest rank), to the precision of a bucket. Returns 0 if there are no values.
  uint64_t Percentile(double share) const {
    const auto rank = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_)));
    uint64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen != 0 && seen >= rank) return std::clamp(MiddleOf(i), min_, max_);
    }
    return 0;
  }

  static constexpr uint32_t kPowers = 45;
  /// Returns the number of values by their length in bits: element n counts the values 2^(n-1) …
  /// 2^n - 1, and element 0 counts the value 0. Values longer than 44 bits count as 44 bits long.
  std::array<uint64_t, kPowers> PowersOfTwo() const {
    std::array<uint64_t, kPowers> powers = {};
    for (size_t i = 0; i < counts_.size(); ++i) powers[std::bit_width(MiddleOf(i))] += counts_[i];
    return powers;
  }

  /// Calls see(lowest, highest, count) for each bucket up to the last nonempty one: the lowest and
  /// highest value of the bucket, and the number of values in it.
  template <typename See>
  void ForEachBucket(See see) const {
    size_t end = counts_.size();
    while (end > 0 && counts_[end - 1] == 0) --end;
    for (size_t i = 0; i < end; ++i) see(LowestOf(i), LowestOf(i + 1) - 1, counts_[i]);
  }

 private:
  static constexpr uint32_t kBits = 7;  // Buckets per power of two: 2^kBits.
  static constexpr uint32_t kMaxBits = kPowers - 1;
  // Largest value with its own bucket; larger values count in the last bucket.
  static constexpr uint64_t kMax = (uint64_t{1} << kMaxBits) - 1;

  // Each value below 2^(kBits + 1) has its own bucket.
  static size_t IndexOf(uint64_t value) {
    value = std::min(value, kMax);
    const uint32_t shift =
        std::max<uint32_t>(static_cast<uint32_t>(std::bit_width(value)), kBits + 1) - kBits - 1;
    return (size_t{shift} << kBits) + (value >> shift);
  }
  static uint32_t ShiftOf(size_t index) {
    return std::max<uint32_t>(static_cast<uint32_t>(index >> kBits), 1) - 1;
  }
  static uint64_t LowestOf(size_t index) {
    const uint32_t shift = ShiftOf(index);
    return (index - (size_t{shift} << kBits)) << shift;
  }
  static uint64_t MiddleOf(size_t index) {
    return LowestOf(index) + ((uint64_t{1} << ShiftOf(index)) >> 1);
  }

  template <typename Number>
  static void Bump(Number& total, Number amount) {
    std::atomic_ref(total).store(total + amount, std::memory_order_relaxed);
  }
  template <typename Number>
  static Number Load(const Number& total) {
    return std::atomic_ref(const_cast<Number&>(total)).load(std::memory_order_relaxed);
  }

  std::array<uint64_t, size_t{kMaxBits - kBits + 1} << kBits> counts_ = {};
  uint64_t count_ = 0;
  double sum_ = 0;
  uint64_t min_ = UINT64_MAX;
  uint64_t max_ = 0;
};

}  // namespace sluice::engine::workload
