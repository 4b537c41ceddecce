// SPDX-License-Identifier: BSD-3-Clause
//
// When a source may send its next frames: a rate in packets per second and a
// limit on their number. Used by the generator and by capture replay.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::emulator {

/// Owned by the stepping thread.
class Pacer {
 public:
  /// `rate_pps` 0: as fast as the device takes frames. `count` 0: no end.
  Pacer(double rate_pps, uint64_t count)
      : pkts_per_ns_(rate_pps / 1e9), left_(count == 0 ? ~uint64_t{0} : count) {}

  void Start(uint64_t now_ns) {
    start_ns_ = now_ns;
    sent_ = 0;
  }

  /// Frames that may be sent now, at most `max`. A source that falls behind by
  /// more than 10 ms (or a burst) gives those frames up and counts them.
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

  /// Frames that the rate asked for and that were never offered.
  uint64_t given_up() const { return given_up_; }

 private:
  static constexpr uint64_t kBurst = 256;

  const double pkts_per_ns_;
  uint64_t left_;
  uint64_t start_ns_ = 0;
  uint64_t sent_ = 0;  ///< Since Start, given-up frames included.
  uint64_t given_up_ = 0;
};

}  // namespace sluice::emulator
