// SPDX-License-Identifier: BSD-3-Clause
//
// All streams of a run, divided among workers: who sends which frames when. Made by the main
// thread, read by all workers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/pktgen/departures.h"
#include "engine/pktgen/frame_set.h"
#include "engine/pktgen/stream.h"

namespace sluice::engine::pktgen {

/// What one worker sends of one stream.
struct Share {
  FrameSet frames;
  Departures departures;
  uint64_t limit = 0;  ///< Frames after which it is over; 0: never.
};

struct TrafficOptions {
  uint32_t workers = 1;
  uint64_t line_bps = 0;     ///< 0: not known; percentages are refused.
  uint64_t end_ps = kNever;  ///< Nothing is due from then on.
  uint16_t run = 0;          ///< In all tags.
};

class Traffic {
 public:
  /// Null, with one line in `error` that begins with the stream's name, if a stream cannot be
  /// made, a rate cannot be told, or together they are beyond the line.
  static std::unique_ptr<Traffic> Make(const std::vector<StreamSpec>& specs,
                                       const TrafficOptions& options, std::string* error);

  const TrafficOptions& options() const { return options_; }
  size_t streams() const { return names_.size(); }
  const std::string& name(size_t stream) const { return names_[stream]; }
  const Share& share(size_t stream, uint32_t worker) const {
    return shares_[stream * options_.workers + worker];
  }
  /// When the last frame is due, if that is known in advance; else kNever.
  uint64_t end_ps() const { return end_ps_; }

 private:
  bool Add(const StreamSpec& spec, std::string* error);
  bool FitsTheLine(const std::vector<StreamSpec>& specs, std::string* error) const;

  TrafficOptions options_;
  std::vector<std::string> names_;
  std::vector<std::shared_ptr<const FrameSet>> frames_;  ///< Of all workers, by stream.
  std::vector<Share> shares_;                            ///< By stream, then worker.
  uint64_t end_ps_ = 0;
};

}  // namespace sluice::engine::pktgen
