// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/metric/alert.h"

namespace sluice::engine::logmon {

std::optional<Alert> Alert::Create(const AlertOptions& options, std::string* error) {
  if (options.threshold == 0 || options.threshold > kMaxAlertThreshold || options.window == 0) {
    *error = "an alert requires a threshold of 1 to 1048576 events and a window";
    return std::nullopt;
  }
  return Alert(options);
}

Alert::Alert(const AlertOptions& options)
    : options_(options), times_(options.sliding ? options.threshold : 0) {}

uint64_t Alert::Advance(uint64_t now) {
  if (now < now_) {
    if (now_ - now < options_.window) return now_;
    events_ = last_window_events_ = 0;
  } else if (!options_.sliding) {
    const uint64_t windows = now / options_.window - now_ / options_.window;
    if (windows > 0) {
      last_window_events_ = windows == 1 ? events_ : 0;
      events_ = 0;
    }
  }
  return now_ = now;
}

bool Alert::IsReached(uint64_t now) const {
  if (!options_.sliding) {
    // At the start of a window, the alert keeps firing if the previous window reached the
    // threshold.
    return events_ >= options_.threshold ||
           (is_firing_ && last_window_events_ >= options_.threshold);
  }
  if (events_ < options_.threshold) return false;
  const uint64_t oldest = times_[events_ % options_.threshold];
  return now - oldest < options_.window;
}

Alert::Edge Alert::Update(bool is_reached) {
  if (is_reached == is_firing_) return Edge::kNone;
  is_firing_ = is_reached;
  return is_reached ? Edge::kFired : Edge::kCleared;
}

Alert::Edge Alert::OnEvent(uint64_t now) {
  now = Advance(now);
  // The condition may have ended since the last event without a call to OnTime. In this case, this
  // event fires the alert again, and the end is not reported.
  if (!IsReached(now)) is_firing_ = false;
  if (options_.sliding) times_[events_ % options_.threshold] = now;
  ++events_;
  return Update(IsReached(now));
}

bool Alert::IsAtRest(uint64_t now) {
  now = Advance(now);
  if (is_firing_ || events_ == 0) return !is_firing_;
  return options_.sliding && now - times_[(events_ - 1) % options_.threshold] >= options_.window;
}

Alert::Edge Alert::OnTime(uint64_t now) { return Update(IsReached(Advance(now))); }

}  // namespace sluice::engine::logmon
