// SPDX-License-Identifier: BSD-3-Clause
//
// The consumer's end of a queue of received frames in the card's memory (ipu_fifo.h).
#pragma once

#include <cstdint>

#include "device/grid/ipu_card.h"
#include "device/grid/ipu_fifo.h"

namespace sluice::device::grid {

/// Positions are free-running counts of frames.
class FifoEnd {
 public:
  FifoEnd(IpuCard& card, uint32_t queue)
      : ring_(card.rx[queue]),
        settings_(card.settings.rings[queue]),
        fifo_(card, queue),
        place_(fifo_.ring()),
        entries_(place_.entries()) {}

  /// Return the position after the last frame, and the position of the first frame.
  uint32_t head() const { return Load(&ring_.head); }
  uint32_t tail() const { return Load(&ring_.tail) - entries_; }
  uint32_t Length(uint32_t at) const {
    return static_cast<uint32_t>(LoadQuad(place_.At(at)).high & 0xffff);
  }
  /// Returns a frame's data, which is 64-byte aligned. Bytes of an earlier frame may follow it.
  const uint8_t* Data(uint32_t at) const { return fifo_.Slot(at & (entries_ - 1)); }
  /// Removes the frames before `tail`, which must have been read. Called by one thread.
  void Release(uint32_t tail) const {
    FenceCard();
    Store(&ring_.tail, tail + entries_);
  }

  /// Lets receive blocks queue frames of up to `most` bytes. Open and Close must be called by one
  /// thread while no batch is in progress.
  void Open(uint32_t most) const { Set(entries_, {place_.word(), most, kRxOnCard}); }
  /// Returns the number of frames that were not removed.
  uint32_t Close() const {
    const uint32_t left = head() - tail();
    Set(0, {});
    return left;
  }

 private:
  void Set(uint32_t tail, const IpuRxSettings& settings) const {
    Store(&ring_.head, 0u);
    Store(&ring_.reserved, 0u);
    Store(&ring_.tail, tail);
    Store(&settings_.place, settings.place);
    Store(&settings_.room, settings.room);
    Store(&settings_.flags, settings.flags);
  }

  IpuRing& ring_;
  IpuRxSettings& settings_;
  const CardFifo fifo_;
  const RingPlace place_;
  const uint32_t entries_;
};

}  // namespace sluice::device::grid
