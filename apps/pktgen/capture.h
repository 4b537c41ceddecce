// SPDX-License-Identifier: BSD-3-Clause
//
// The frames of a capture as a stream: with tags where they fit, with their times, and padded to
// their original length if they were truncated by the snap length.
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
  /// Captured times, multiplied by the requested factor; null if no factor was requested.
  std::shared_ptr<const engine::pktgen::Offsets> offsets;
  engine::pktgen::CaptureNotes notes;

  /// Makes `stream` send the frames `loops` times; 0: endlessly. Offsets replace the stream's
  /// phases.
  void SetFramesOf(engine::pktgen::StreamSpec* stream, uint64_t loops) const;
};

/// Loads a capture and multiplies its times by `factor`, if there is one. Frames longer than 1518
/// bytes with FCS are skipped. Frames of several queues may have time stamps up to a second out of
/// order. A larger step back, or a day without a frame, means that the clock was set: the frame is
/// then sent together with its predecessor, and later frames keep their distance from it. Returns
/// false, with the fault and its fix in `error`, if the file cannot be read to its end, contains no
/// frame that can be sent, contains a frame without an Ethernet header, contains more than 1 GiB of
/// frames, or if there is a factor but all times are equal.
bool LoadCapture(const std::string& path, std::optional<double> factor, Captured* captured,
                 std::string* error);

}  // namespace sluice::pktgen
