// SPDX-License-Identifier: BSD-3-Clause
//
// "More than N events in a window": fires once, and again only after there were fewer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::engine::logmon {

struct AlertOptions {
  uint64_t threshold = 1;  ///< Events in a window at which it fires: 1 … kMaxAlertThreshold.
  uint64_t window = 60;    ///< In the unit of the times given; at least 1.
  /// True: any stretch of time as long as the window, at any moment. False: windows one behind
  /// the other, from time 0.
  bool sliding = true;
};

inline constexpr uint64_t kMaxAlertThreshold = 1 << 20;

/// Exact. A clock that steps back by less than a window stands still meanwhile; by more, and all
/// events are forgotten.
class Alert {
 public:
  enum class Edge : uint8_t { kNone, kFired, kCleared };

  /// Nothing, and one line in `error`, if an option is beyond its bounds.
  static std::optional<Alert> Create(const AlertOptions& options, std::string* error);

  /// An event at `now`.
  Edge OnEvent(uint64_t now);
  /// Time passed without events.
  Edge OnTime(uint64_t now);
  bool is_firing() const { return is_firing_; }
  /// It is as if nothing had ever happened: no event counts any more.
  bool IsAtRest(uint64_t now);

 private:
  explicit Alert(const AlertOptions& options);
  /// The time to go by, after steps of the clock.
  uint64_t Advance(uint64_t now);
  bool IsReached(uint64_t now) const;
  Edge Update(bool is_reached);

  AlertOptions options_;
  std::vector<uint64_t> times_;  // Of the last events, as many as the threshold, in a ring.
  uint64_t events_ = 0;          // Sliding: since the clock's last step back. Else: in the window.
  uint64_t last_window_events_ = 0;  // In the window before, unless sliding.
  uint64_t now_ = 0;
  bool is_firing_ = false;
};

}  // namespace sluice::engine::logmon
