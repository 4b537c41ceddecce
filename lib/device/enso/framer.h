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
      : clock_(clock),
        timestamper_(timestamper),
        tally_(tally),
        staging_(kStagingFlits * regs::enso::kFlitBytes) {}

  /// The FIFO is full and holds no whole frame, which it never will.
  bool stuck() const { return held_ == regs::enso::kMaxTxFrameFlits; }

  /// Takes whole flits of the `bytes` (> 0) at `data` and cuts the frames that they complete; full
  /// bursts go to `sink`. Ends early when frames() is `until`, or when the FIFO is stuck. Returns
  /// the flits taken. `ahead`: bytes from a line of `data` to the one that is needed some time
  /// later, wherever that is.
  uint32_t Append(const uint8_t* data, uint32_t bytes, uintptr_t ahead, uint64_t until,
                  FrameSink& sink);

  /// Hands over the frames that are cut but not yet delivered.
  void Flush(FrameSink& sink);

  /// Frames cut since the NIC was made.
  uint64_t frames() const { return tally_[Event::kTxFrames]; }

 private:
  static constexpr uint32_t kBurst = 64;
  static constexpr uint32_t kStagingFlits = 256;  ///< Half of a first-level cache.
  /// A frame begins here at the latest, so that the largest one has room.
  static constexpr uint32_t kLastStart = kStagingFlits - regs::enso::kMaxTxFrameFlits;

  /// What is still to be taken.
  struct Source {
    const uint8_t* data;
    uint32_t flits;
    uintptr_t ahead;

    void Skip(uint32_t taken) {
      data += uint64_t{taken} * regs::enso::kFlitBytes;
      flits -= taken;
    }
  };

  uint8_t* Flit(uint32_t index) { return staging_.data() + index * regs::enso::kFlitBytes; }
  void AppendFlits(Source& source, uint64_t until, FrameSink& sink);
  void GoOn(Source& source);
  void CutFrames(Source& source, uint32_t most);
  void Stamp(uint32_t first);
  void Count(uint32_t frames, uint64_t bytes) {
    tally_[Event::kTxFrames] += frames;
    tally_[Event::kTxBytes] += bytes;
  }

  const Clock& clock_;
  const Timestamper& timestamper_;
  Tally& tally_;
  std::vector<uint8_t> staging_;
  std::array<WireFrame, kBurst> burst_{};
  uint32_t in_burst_ = 0;
  uint32_t start_ = 0;   ///< Flit of staging_ at which the next frame begins, or the one begun.
  uint32_t held_ = 0;    ///< Flits from start_ on: the beginning of a frame.
  uint32_t length_ = 0;  ///< Bytes of that frame, as its first flit claims; if held_ is not 0.
};

}  // namespace sluice::device::enso
