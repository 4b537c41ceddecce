// SPDX-License-Identifier: BSD-3-Clause
//
// A link of swapped regions in place of a queue pair's rings: frames from the wire are
// written into the NIC's regions, the host's regions are sent, and its offers answered.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "bar/dma.h"
#include "device/device.h"
#include "device/ipu/statistics.h"
#include "device/ipu/tx_queue.h"
#include "swap/nic_link.h"

namespace sluice::device::ipu {

class LinkQueue {
 public:
  /// Takes up the link in [base, base + bytes). False, and there is no link, if no sound
  /// one lies there.
  bool Enable(const bar::DmaSpace& dma, uint64_t base, uint64_t bytes, uint16_t epoch);
  void Disable() { link_.reset(); }
  bool enabled() const { return link_ != nullptr; }
  /// Whether all of its memory is still there.
  bool Reachable(const bar::DmaSpace& dma) const { return dma.Translate(base_, bytes_) != nullptr; }

  // The rest only while enabled.

  /// Answers the host. True if regions changed hands, so that there may be room or frames.
  bool Serve(Statistics& statistics);

  uint32_t MaxFrame() const { return link_->MaxFrame(); }
  /// Writes one frame of at most MaxFrame() bytes. False if no region has room.
  bool Write(const WireFrame& frame, Statistics& statistics);
  /// Writes leading frames of `frames` that need no thought: kMinFrameBytes to `max_length`
  /// bytes, and room. Returns their number and adds their lengths to `bytes`.
  uint32_t WritePlain(std::span<const WireFrame> frames, uint32_t max_length, uint64_t* bytes);

  bool pending() const { return link_->Sending(); }
  /// Gathers about `budget` > 0 frames into `staging`. Returns their number.
  uint32_t Run(TxStaging& staging, FrameSink& sink, Statistics& statistics, uint32_t budget);

 private:
  std::unique_ptr<swap::NicLink> link_;
  uint64_t base_ = 0;  ///< Of link_, as bus address.
  uint64_t bytes_ = 0;
  uint64_t bad_entries_ = 0;  ///< Of link_, as far as they are in the statistics.
  uint64_t faults_ = 0;
};

}  // namespace sluice::device::ipu
