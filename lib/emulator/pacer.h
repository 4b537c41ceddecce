// SPDX-License-Identifier: BSD-3-Clause
//
// Limits a source to a rate in packets per second and to a number of frames. Used by the generator
// and by capture replay.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::emulator {

/// Computes how many frames a source may send. Owned by the stepping thread.
class Pacer {
 public:
  /// `rate_pps` 0 means as fast as the device accepts frames. `count` 0 means unlimited.
  Pacer(double rate_pps, uint64_t count)
      : pkts_per_ns_(rate_pps / 1e9), left_(count == 0 ? ~uint64_t{0} : count) {}

  void Start(uint64_t now_ns) {
    start_ns_ = now_ns;
    sent_ = 0;
  }

  /// Returns the number of frames that may be sent now, at most `max`. If a source is late by more
  /// than 10 ms and by more than kBurst frames, the excess frames are skipped and counted.
  uint32_t Due(uint64_t now_ns, uint32_t max) {
    const uint64_t allowed = std::min<uint64_t>(max, left_);
    if (pkts_per_ns_ == 0) return static_cast<uint32_t>(allowed);
    const double due = static_cast<double>(now_ns - start_ns_) * pkts_per_ns_;
    uint64_t behind = static_cast<uint64_t>(due) - std::min(sent_, static_cast<uint64_t>(due));
    const uint64_t tolerated =
        std::max<uint64_t>(kBurst, static_cast<uint64_t>(pkts_per_ns_ * 1e7));
    if (behind > tolerated) {
      given_up_ += behind - tolerated;
      sent_ += behind - tolerated;
      behind = tolerated;
    }
    return static_cast<uint32_t>(std::min(allowed, behind));
  }

  void Sent(uint32_t count) {
    sent_ += count;
    left_ -= count;
  }

  /// Returns the number of frames that were due according to the rate but were skipped.
  uint64_t given_up() const { return given_up_; }

 private:
  static constexpr uint64_t kBurst = 256;

  const double pkts_per_ns_;
  uint64_t left_;
  uint64_t start_ns_ = 0;
  uint64_t sent_ = 0;  ///< Number of frames since Start, including skipped ones.
  uint64_t given_up_ = 0;
};

}  // namespace sluice::emulator
