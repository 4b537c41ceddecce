// SPDX-License-Identifier: BSD-3-Clause
//
// Cuts frames out of the transmitted byte stream (docs/enso-hardware.md, "Transmitting"). The
// frame's length is the be16 at byte 16 of its first flit, plus 14; the next frame begins at the
// next flit boundary. The NIC has a single framer for the bytes of all buffers. Its
// store-and-forward FIFO holds 64 flits.
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

  /// Returns whether the FIFO is full and contains no complete frame. This state is permanent.
  bool stuck() const { return held_ == regs::enso::kMaxTxFrameFlits; }

  /// Reads the bytes at `data` in flits; the last flit is padded with zeros. `bytes` must not be 0.
  /// Cuts the frames that become complete, and delivers full bursts to `sink`. Ends early when
  /// frames() reaches `until`, or when the FIFO is stuck. Returns the number of flits read. `ahead`
  /// is the distance in bytes from the line that is read to the line that is prefetched, which may
  /// be in another buffer.
  uint32_t Append(const uint8_t* data, uint32_t bytes, uintptr_t ahead, uint64_t until,
                  FrameSink& sink);

  /// Delivers the frames that have been cut but not yet delivered.
  void Flush(FrameSink& sink);

  /// Returns the number of frames cut since the NIC was created.
  uint64_t frames() const { return tally_[Event::kTxFrames]; }

 private:
  static constexpr uint32_t kBurst = 64;
  static constexpr uint32_t kStagingFlits = 256;  ///< 16 KiB, half of a 32 KiB L1 cache.
  /// Last flit at which a frame may begin, so that even the largest frame fits.
  static constexpr uint32_t kLastStart = kStagingFlits - regs::enso::kMaxTxFrameFlits;

  /// The input that has not been read yet.
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
  uint32_t start_ = 0;   ///< Flit of staging_ where the current or next frame begins.
  uint32_t held_ = 0;    ///< Flits in staging_ of the incomplete frame, which begins at start_.
  uint32_t length_ = 0;  ///< Length of the incomplete frame in bytes, from its first flit; valid if
                         ///< held_ is not 0.
};

}  // namespace sluice::device::enso
