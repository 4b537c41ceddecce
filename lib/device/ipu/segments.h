// SPDX-License-Identifier: BSD-3-Clause
//
// TCP segmentation: a large frame becomes frames of the size that its first descriptor names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "device/device.h"
#include "device/ipu/statistics.h"
#include "device/ipu/tx_staging.h"

namespace sluice::device::ipu {

/// Reads a frame that lies in several pieces, in order. Nobody reads beyond its last one.
class PieceReader {
 public:
  /// `high` are the pieces' descriptors, for their lengths.
  PieceReader(const uint8_t* const* data, const uint64_t* high) : data_(data), high_(high) {}

  void Read(uint8_t* to, uint32_t bytes) {
    while (bytes != 0) {
      const uint32_t here = std::min(bytes, static_cast<uint16_t>(*high_) - at_);
      std::memcpy(to, *data_ + at_, here);
      to += here, bytes -= here, at_ += here;
      if (at_ != static_cast<uint16_t>(*high_)) continue;
      ++data_, ++high_;
      at_ = 0;
    }
  }

 private:
  const uint8_t* const* data_;
  const uint64_t* high_;
  uint32_t at_ = 0;  ///< In the present piece.
};

/// Sends the frame of `length` bytes, at most kMaxLargeFrameBytes, that `pieces` reads, as
/// `command`, its first descriptor, says. Lengths, identification, sequence numbers, flags and
/// checksums are those of each segment (RFC 9293, 3.1). False, and nothing is sent, if the command
/// makes no segments of it.
bool SendSegments(uint64_t command, uint32_t length, PieceReader pieces, TxStaging& staging,
                  FrameSink& sink, Statistics& statistics);

}  // namespace sluice::device::ipu
