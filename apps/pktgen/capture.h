// SPDX-License-Identifier: BSD-3-Clause
//
// Makes a stream of the frames of a capture. Frames keep their times, get tags where these fit, and
// are padded to their original length if the snap length truncated them.
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

  /// Makes `stream` send the frames `loops` times; 0: endlessly. The offsets replace the stream's
  /// phases.
  void SetFramesOf(engine::pktgen::StreamSpec* stream, uint64_t loops) const;
};

/// Loads a capture and multiplies its times by `factor`, if there is one. Frames longer than 1518
/// bytes with FCS are skipped. Time stamps may be up to a second out of order, as in captures from
/// several queues. A larger step back, or more than a day without a frame, means that the clock was
/// set: the frame is then sent together with its predecessor, and later frames keep their distance
/// from it. Returns false and sets `error` to the fault and its fix if the file cannot be read to
/// its end, contains no frame that can be sent, contains a frame without an Ethernet header, or
/// contains more than 1 GiB of frames, or if there is a factor but all times are equal.
bool LoadCapture(const std::string& path, std::optional<double> factor, Captured* captured,
                 std::string* error);

}  // namespace sluice::pktgen
