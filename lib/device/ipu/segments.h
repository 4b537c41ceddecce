// SPDX-License-Identifier: BSD-3-Clause
//
// TCP segmentation: splits a large frame into frames of the size in its first descriptor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "device/device.h"
#include "device/ipu/statistics.h"
#include "device/ipu/tx_staging.h"

namespace sluice::device::ipu {

/// Reads a frame that is in several pieces, in order. Callers must not read beyond the last piece.
class PieceReader {
 public:
  /// `high` are the high words of the pieces' descriptors, which contain the lengths.
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
  uint32_t at_ = 0;  ///< Offset in the current piece.
};

/// Splits a frame of `length` bytes, at most kMaxLargeFrameBytes, into segments and sends them.
/// `pieces` reads the frame, and `command` is the high word of its first descriptor. Updates each
/// segment's lengths, identification, sequence number, flags and checksums (RFC 9293, 3.1). Returns
/// false and sends nothing if the command or the IP header is invalid.
bool SendSegments(uint64_t command, uint32_t length, PieceReader pieces, TxStaging& staging,
                  FrameSink& sink, Statistics& statistics);

}  // namespace sluice::device::ipu
