// SPDX-License-Identifier: BSD-3-Clause
//
// A region link, which replaces a queue pair's rings. It writes frames from the wire to the NIC's
// regions, sends the frames in the host's regions, and answers the host's offers.
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
  /// Closes the current link, if any, and opens the link in [base, base + bytes). Returns false and
  /// opens nothing if the memory is unaligned, unmapped or remote, or does not contain a valid
  /// link.
  bool Enable(const bar::DmaSpace& dma, uint64_t base, uint64_t bytes, uint16_t epoch);
  void Disable() { link_.reset(); }
  bool enabled() const { return link_ != nullptr; }
  /// Returns whether all memory of the link is still mapped.
  bool Reachable(const bar::DmaSpace& dma) const { return dma.Translate(base_, bytes_) != nullptr; }

  // The methods below may be called only while enabled() is true.

  /// Answers the host's offers. Returns true if regions were swapped; this may have made room or
  /// provided frames to send.
  bool Serve(Statistics& statistics);

  uint32_t MaxFrame() const { return link_->MaxFrame(); }
  /// Writes one frame of at most MaxFrame() bytes. Returns false if no region has room.
  bool Write(const WireFrame& frame, Statistics& statistics);
  /// Writes frames until it reaches one whose length is not between kMinFrameBytes and
  /// min(`max_length`, MaxFrame()), or for which there is no room. Returns the number of written
  /// frames and adds their lengths to `bytes`.
  uint32_t WritePlain(std::span<const WireFrame> frames, uint32_t max_length, uint64_t* bytes);

  bool pending() const { return link_->Sending(); }
  /// Copies at most `budget` frames into `staging`, which delivers full bursts to `sink`. Returns
  /// their number.
  uint32_t Run(TxStaging& staging, FrameSink& sink, Statistics& statistics, uint32_t budget);

 private:
  std::unique_ptr<swap::NicLink> link_;
  uint64_t base_ = 0;  ///< Bus address of link_.
  uint64_t bytes_ = 0;
  uint64_t bad_entries_ = 0;  ///< The bad entries of link_ that the statistics already include.
  uint64_t faults_ = 0;
};

}  // namespace sluice::device::ipu
