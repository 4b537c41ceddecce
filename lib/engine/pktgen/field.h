// SPDX-License-Identifier: BSD-3-Clause
//
// The sequence of values of a header field: a constant, a list that is cycled through, a range with
// a step, or random values from a range. Addresses, ports and numbers are all unsigned integers of
// up to 128 bits. Pure: value n is a function of n.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/workload/random.h"

namespace sluice::engine::pktgen {

class Field {
 public:
  using Value = unsigned __int128;

  /// Creates a constant field.
  Field(Value value = 0) : list_{value} {}  // NOLINT: a value is a field.
  /// Creates a field that cycles through `values`, which must not be empty.
  static Field List(std::vector<Value> values) {
    Field field;
    field.list_ = std::move(values);
    return field;
  }
  /// Creates a field that cycles through `from`, `from` + `step`, … up to at most `to`. Requires
  /// from ≤ to and step ≥ 1.
  static Field Range(Value from, Value to, uint64_t step) {
    Field field;
    field.list_.clear();
    field.from_ = from;
    field.step_ = step;
    const Value steps = (to - from) / step;
    field.width_ = steps * step;
    field.count_ = steps < kEndless ? static_cast<uint64_t>(steps) + 1 : kEndless;
    return field;
  }
  /// Creates a field of independent, uniformly distributed values in from … to.
  static Field Random(Value from, Value to, uint64_t seed) {
    Field field = Range(from, to, 1);
    field.random_ = true;
    field.seed_ = seed;
    return field;
  }

  Value At(uint64_t n) const {
    if (!list_.empty()) return list_[n % list_.size()];
    if (!random_) return from_ + Value{n % count_} * step_;
    const uint64_t drawn = workload::Mix(seed_ + n * 0x9e3779b97f4a7c15);
    return from_ + (count_ == kEndless ? DrawWide(drawn) : Value{drawn} * count_ >> 64);
  }
  /// Returns the number of values after which the sequence repeats; 0 for random fields.
  uint64_t cycle() const { return random_ ? 0 : list_.empty() ? count_ : list_.size(); }
  bool is_random() const { return random_; }
  /// Returns the maximum value.
  Value most() const {
    Value most = list_.empty() ? from_ + width_ : 0;
    for (const Value value : list_) most = value > most ? value : most;
    return most;
  }

 private:
  static constexpr uint64_t kEndless = uint64_t{1} << 63;

  /// Draws a value of 0 … width_ by rejection, with as many bits as width_ has.
  Value DrawWide(uint64_t seed) const {
    const auto high = static_cast<uint64_t>(width_ >> 64);
    const int unused =
        high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<uint64_t>(width_));
    workload::Random random(seed);
    Value drawn;
    do drawn = (Value{random.Next()} << 64 | random.Next()) >> unused;
    while (drawn > width_);
    return drawn;
  }

  std::vector<Value> list_;  ///< Empty for a range.
  Value from_ = 0;
  Value width_ = 0;  ///< Maximum value minus from_.
  uint64_t step_ = 1;
  uint64_t count_ = 1;
  uint64_t seed_ = 0;
  bool random_ = false;
};

}  // namespace sluice::engine::pktgen
