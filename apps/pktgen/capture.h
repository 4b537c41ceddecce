// SPDX-License-Identifier: BSD-3-Clause
//
// The frames of a capture as a stream: with tags where there is room for them, with their times,
// and padded to the length that they had on the wire where the snap length cut them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/pktgen/departures.h"
#include "engine/pktgen/frame_set.h"

namespace sluice::pktgen {

struct Captured {
  std::shared_ptr<const engine::pktgen::FrameSet> frames;
  std::shared_ptr<const engine::pktgen::Offsets> offsets;  ///< Times the factor that was asked for.
  uint64_t snapped = 0;                                    ///< Frames that were padded with zeros.
};

/// Loads a capture; its times are multiplied by `factor`. False, with what is wrong and the fix in
/// `error`, if it cannot be read to its end, has no frame, or one that is no Ethernet frame of at
/// most 1518 bytes with FCS.
bool LoadCapture(const std::string& path, double factor, Captured* captured, std::string* error);

}  // namespace sluice::pktgen
