// SPDX-License-Identifier: BSD-3-Clause
//
// Cuts frames out of the transmitted byte stream (docs/enso-hardware.md, "Transmitting"): the
// first flit's be16 at 16, plus 14, is the frame's length; the next frame begins
// on the next flit. One for the whole NIC, whichever buffer the bytes come from.
// Behind it stands the store-and-forward FIFO, 64 flits deep.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "device/device.h"
#include "device/enso/clocked.h"
#include "device/enso/counters.h"
#include "regs/enso.h"

namespace sluice::device::enso {

class Framer {
 public:
  Framer(const Clock& clock, const Timestamper& timestamper, Tally& tally)
      : clock_(clock), timestamper_(timestamper), tally_(tally),
        staging_(kStagingFlits * regs::enso::kFlitBytes) {}

  /// Flits that the FIFO takes now. 0: it is full and holds no whole frame, which
  /// it never will.
  uint32_t Room() const { return regs::enso::kMaxTxFrameFlits - held_; }

  /// Copies `bytes` (1 … 64 · Room()) as whole flits and cuts the frames that they
  /// complete; full bursts go to `sink`.
  void Append(const uint8_t* data, uint32_t bytes, FrameSink& sink);

  /// Hands over the frames that are cut but not yet delivered.
  void Flush(FrameSink& sink);

  /// Frames cut since the NIC was made.
  uint64_t frames() const { return delivered_ + in_burst_; }

 private:
  static constexpr uint32_t kBurst = 64;
  static constexpr uint32_t kStagingFlits = 256;  ///< Half of a first-level cache.

  uint8_t* Flit(uint32_t index) {
    return staging_.data() + index * regs::enso::kFlitBytes;
  }
  void AppendFlits(const uint8_t* data, uint32_t flits, FrameSink& sink);
  void Cut(uint8_t* first, uint32_t length, FrameSink& sink);

  const Clock& clock_;
  const Timestamper& timestamper_;
  Tally& tally_;
  std::vector<uint8_t> staging_;
  std::array<WireFrame, kBurst> burst_{};
  uint32_t in_burst_ = 0;
  uint32_t start_ = 0;  ///< Flit of staging_ at which the next frame begins.
  uint32_t held_ = 0;   ///< Flits from start_ on: the beginning of a frame.
  uint32_t length_ = 0;   ///< Bytes of that frame, as its first flit claims; if held_ is not 0.
  uint64_t delivered_ = 0;  ///< Frames that the sink had.
};

}  // namespace sluice::device::enso
