// SPDX-License-Identifier: BSD-3-Clause
//
// The frames of a capture as a stream: with tags where there is room for them, with their times,
// and padded to the length that they had on the wire where the snap length cut them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/pktgen/departures.h"
#include "engine/pktgen/frame_set.h"
#include "engine/pktgen/stream.h"

namespace sluice::pktgen {

struct Captured {
  std::shared_ptr<const engine::pktgen::FrameSet> frames;
  /// Times the factor that was asked for; null without one.
  std::shared_ptr<const engine::pktgen::Offsets> offsets;
  engine::pktgen::CaptureNotes notes;
};

/// Loads a capture; its times are multiplied by `factor`, if there is one. A step back of up to a
/// second is that of several queues; beyond, and where a day passes without a frame, the clock was
/// set: such a frame leaves with the one in front, and those behind it keep their distance from it.
/// Frames of more than 1518 bytes with FCS are left out. False, with what is wrong and the fix in
/// `error`, if it cannot be read to its end, has no other frame, or one that is no Ethernet frame;
/// or if there is a factor, but no gap.
bool LoadCapture(const std::string& path, std::optional<double> factor, Captured* captured,
                 std::string* error);

}  // namespace sluice::pktgen
