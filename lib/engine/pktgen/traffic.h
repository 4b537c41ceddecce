// SPDX-License-Identifier: BSD-3-Clause
//
// All streams of a run, divided among workers. Created by the main thread and read by all workers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/pktgen/departures.h"
#include "engine/pktgen/frame_set.h"
#include "engine/pktgen/stream.h"

namespace sluice::engine::pktgen {

/// One worker's part of one stream.
struct Share {
  FrameSet frames;
  Departures departures;
  uint64_t limit = 0;  ///< Number of frames after which this share ends; 0: unlimited.
};

struct TrafficOptions {
  uint32_t workers = 1;
  /// Line rate in bits per second; 0: unknown, and percentages are rejected.
  uint64_t line_bps = 0;
  uint64_t end_ps = kNever;  ///< No frame is due from this time on.
  uint16_t run = 0;          ///< Number of the run in all tags.
};

class Traffic {
 public:
  /// Divides streams among workers. If a stream cannot be built, a rate cannot be computed, or all
  /// streams together exceed the line rate, returns null and writes one line to `error`, which
  /// begins with the stream's name.
  static std::unique_ptr<Traffic> Make(const std::vector<StreamSpec>& specs,
                                       const TrafficOptions& options, std::string* error);

  const TrafficOptions& options() const { return options_; }
  size_t streams() const { return names_.size(); }
  const std::string& name(size_t stream) const { return names_[stream]; }
  const Share& share(size_t stream, uint32_t worker) const {
    return shares_[stream * options_.workers + worker];
  }
  /// Returns the end of the last phase, or of the last round of a capture that has a frame limit.
  /// It is at most TrafficOptions::end_ps, or kNever if there is no end.
  uint64_t end_ps() const { return end_ps_; }

 private:
  bool Add(const StreamSpec& spec, std::string* error);
  bool FitsTheLine(const std::vector<StreamSpec>& specs, std::string* error) const;

  TrafficOptions options_;
  std::vector<std::string> names_;
  /// Frames of all workers, indexed by stream.
  std::vector<std::shared_ptr<const FrameSet>> frames_;
  std::vector<Share> shares_;  ///< Indexed by stream, then worker.
  uint64_t end_ps_ = 0;
};

}  // namespace sluice::engine::pktgen
