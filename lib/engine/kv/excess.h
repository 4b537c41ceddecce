// SPDX-License-Identifier: BSD-3-Clause
//
// How much more a source receives than it has sent. An answer of up to three times its request is
// free, as QUIC's to an unvalidated client (RFC 9000, section 8.1); the rest is paid from the
// source's token bucket, which fills at a fixed rate. So an attacker who forges a source's
// address makes this server send it, in t seconds, at most
//
//   kFree * (bytes sent in its name) + rate * t + burst
//
// Sources share buckets by a keyed hash, in a table of fixed size: the bound holds for all
// that share one. Owned by one worker.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

namespace sluice::engine::kv {

class Excess {
 public:
  static constexpr uint32_t kFree = 3;
  static constexpr uint32_t kBuckets = 1u << 14;

  /// `bytes_per_s` up to 10^12; 0: everything is free. `burst_bytes`: what a full bucket holds.
  Excess(uint64_t bytes_per_s, uint64_t burst_bytes, uint64_t cycles_per_second)
      : bounded_(bytes_per_s != 0),
        burst_(burst_bytes),
        rate_(static_cast<uint64_t>((static_cast<unsigned __int128>(bytes_per_s) << 32) /
                                    cycles_per_second)),
        filled_(burst_bytes),
        spent_(bounded_ ? std::make_unique<uint64_t[]>(kBuckets) : nullptr) {}

  /// In cycles, never less than before. Between bursts is often enough.
  void SetTime(uint64_t now) {
    filled_ = burst_ + static_cast<uint64_t>((static_cast<unsigned __int128>(now) * rate_) >> 32);
  }

  /// Whether `out` bytes may answer `in` bytes; `source()` is a keyed hash of where they go. Takes
  /// what they cost.
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
  uint64_t rate_;    ///< Bytes a cycle, 32 fractional bits.
  uint64_t filled_;  ///< Bytes that a bucket has got since the start, the burst included.
  /// Of these, what each has spent; what overflowed counts as spent.
  std::unique_ptr<uint64_t[]> spent_;
};

}  // namespace sluice::engine::kv
