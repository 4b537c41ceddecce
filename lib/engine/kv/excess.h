// SPDX-License-Identifier: BSD-3-Clause
//
// Limits how much more a source receives than it has sent. An answer of up to three times its
// request is free, as in QUIC before address validation (RFC 9000, section 8.1). The excess is paid
// from the source's token bucket, which fills at a fixed rate. An attacker who forges a source's
// address can therefore make this server send to that address, within t seconds, at most
//
//   kFree * (bytes sent in its name) + rate * t + burst
//
// Sources share buckets by a keyed hash, in a table of fixed size. The bound holds for the sum over
// all sources that share a bucket. Owned by one worker.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

namespace sluice::engine::kv {

class Excess {
 public:
  static constexpr uint32_t kFree = 3;
  static constexpr uint32_t kBuckets = 1u << 14;

  /// `bytes_per_s` is at most 10^12; 0 disables the limit. `burst_bytes` is the capacity of a
  /// bucket.
  Excess(uint64_t bytes_per_s, uint64_t burst_bytes, uint64_t cycles_per_second)
      : bounded_(bytes_per_s != 0),
        burst_(burst_bytes),
        rate_(static_cast<uint64_t>((static_cast<unsigned __int128>(bytes_per_s) << 32) /
                                    cycles_per_second)),
        filled_(burst_bytes),
        spent_(bounded_ ? std::make_unique<uint64_t[]>(kBuckets) : nullptr) {}

  /// Sets the time in cycles, which must not decrease. A call between bursts is sufficient.
  void SetTime(uint64_t now) {
    filled_ = burst_ + static_cast<uint64_t>((static_cast<unsigned __int128>(now) * rate_) >> 32);
  }

  /// Returns whether an answer of `out` bytes may be sent for a request of `in` bytes and, if so,
  /// charges its cost. `source()` returns a keyed hash of the answer's destination.
  template <typename Source>
  bool Allow(uint32_t in, uint32_t out, Source source) {
    if (out <= kFree * in || !bounded_) [[likely]]
      return true;
    return Pay(source(), out - kFree * in);
  }

 private:
  bool Pay(uint64_t source, uint64_t bytes) {
    uint64_t& spent = spent_[source % kBuckets];
    const uint64_t after = std::max(spent, filled_ - burst_) + bytes;
    if (after > filled_) return false;
    spent = after;
    return true;
  }

  bool bounded_;
  uint64_t burst_;
  uint64_t rate_;    ///< Bytes per cycle, with 32 fractional bits.
  uint64_t filled_;  ///< Bytes that a bucket has received since the start, including the burst.
  /// Bytes that each bucket has spent of filled_. Bytes beyond its capacity count as spent.
  std::unique_ptr<uint64_t[]> spent_;
};

}  // namespace sluice::engine::kv
