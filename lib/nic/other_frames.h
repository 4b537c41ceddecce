// SPDX-License-Identifier: BSD-3-Clause
//
// Which frames of a burst on pipes are not plain IPv4. Whether one leaves as part of a run is not
// known before it is looked at, which nobody does for a frame that the engine does not answer: so
// these are kept, and each gets its ending before those behind it do.
#pragma once

#include <array>
#include <cstdint>

namespace sluice::nic {

/// Numbers below `kFrames`, in order; of one worker.
template <uint8_t kFrames>
class OtherFrames {
 public:
  /// Greater than all before, at most kFrames times.
  void Add(uint32_t number) {
    numbers_[count_] = static_cast<uint8_t>(number);
    numbers_[++count_] = kFrames;
  }
  /// The first that has not ended; kFrames: there is none.
  uint32_t next() const { return numbers_[next_]; }
  void EndNext() { ++next_; }

 private:
  std::array<uint8_t, kFrames + 1> numbers_{kFrames};
  uint32_t count_ = 0, next_ = 0;
};

}  // namespace sluice::nic
