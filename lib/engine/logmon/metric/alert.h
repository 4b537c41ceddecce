// SPDX-License-Identifier: BSD-3-Clause
//
// An alert for "at least N events within a window". It fires once, and fires again only after the
// number of events has fallen below N.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::engine::logmon {

struct AlertOptions {
  /// Number of events in a window at which the alert fires: 1 … kMaxAlertThreshold.
  uint64_t threshold = 1;
  uint64_t window = 60;  ///< Length in the unit of `now`; at least 1.
  /// True: the window ends at the current time. False: consecutive windows, starting at time 0.
  bool sliding = true;
};

inline constexpr uint64_t kMaxAlertThreshold = 1 << 20;

/// State of one alert, with exact counts. If the clock steps back by less than a window, the
/// alert's time does not change until the clock catches up. If it steps back by a window or more,
/// all events are dropped.
class Alert {
 public:
  enum class Edge : uint8_t { kNone, kFired, kCleared };

  /// Returns nullopt and one line in `error` if an option is out of range.
  static std::optional<Alert> Create(const AlertOptions& options, std::string* error);

  /// Counts an event at `now`.
  Edge OnEvent(uint64_t now);
  /// Advances the time without an event.
  Edge OnTime(uint64_t now);
  bool is_firing() const { return is_firing_; }
  /// Returns whether the state equals that of a new alert, i.e. no stored event still counts.
  bool IsAtRest(uint64_t now);

 private:
  explicit Alert(const AlertOptions& options);
  /// Returns the time to use, which differs from `now` after the clock has stepped back.
  uint64_t Advance(uint64_t now);
  bool IsReached(uint64_t now) const;
  Edge Update(bool is_reached);

  AlertOptions options_;
  std::vector<uint64_t> times_;  // A ring with the times of the last `threshold` events.
  // Sliding window: events since the clock last stepped back. Otherwise: events in the current
  // window.
  uint64_t events_ = 0;
  uint64_t last_window_events_ = 0;  // Events in the previous window, unless the window slides.
  uint64_t now_ = 0;
  bool is_firing_ = false;
};

}  // namespace sluice::engine::logmon
