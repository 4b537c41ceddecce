// SPDX-License-Identifier: BSD-3-Clause
//
// The device's clock, and the timestamps of PTP frames that the device keeps for the host.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::device::ipu {

/// The device's clock. Times are in nanoseconds and change only between steps of the model.
class Clock {
 public:
  void SetTime(uint64_t now_ns) { elapsed_ns_ = now_ns; }
  /// Returns the model's time, which the host cannot set and which never decreases.
  uint64_t Elapsed() const { return elapsed_ns_; }
  /// Returns the time that the host can read and set.
  uint64_t Now() const { return elapsed_ns_ + offset_ns_; }
  void Set(uint64_t now_ns) { offset_ns_ = now_ns - elapsed_ns_; }
  void Adjust(int64_t by_ns) { offset_ns_ += static_cast<uint64_t>(by_ns); }

  /// Store the current time as the frame's timestamp. Return false and store nothing if the host
  /// has not yet cleared the previous timestamp.
  bool StampReceived() { return Stamp(received_ns_); }
  bool StampSent() { return Stamp(sent_ns_); }
  uint64_t received_ns() const { return received_ns_; }  ///< 0: no timestamp.
  uint64_t sent_ns() const { return sent_ns_; }
  void ClearReceived() { received_ns_ = 0; }
  void ClearSent() { sent_ns_ = 0; }

  /// Restores the power-on state, except for the model's time.
  void Reset() { offset_ns_ = received_ns_ = sent_ns_ = 0; }

 private:
  bool Stamp(uint64_t& stamp_ns) const {
    if (stamp_ns != 0) return false;
    stamp_ns = std::max<uint64_t>(Now(), 1);
    return true;
  }

  uint64_t elapsed_ns_ = 0;
  uint64_t offset_ns_ = 0;
  uint64_t received_ns_ = 0;
  uint64_t sent_ns_ = 0;
};

}  // namespace sluice::device::ipu
