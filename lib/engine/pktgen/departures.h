// SPDX-License-Identifier: BSD-3-Clause
//
// Departure times of one stream's frames at one worker: at a constant rate, as independent
// arrivals, or as captured. Except in unlimited phases, the times are computed from the start of
// the phase, not from the time at which the previous frame was actually sent. Times count from the
// start of the run.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/pktgen/rate.h"
#include "engine/workload/random.h"
#include "engine/workload/schedule.h"

namespace sluice::engine::pktgen {

/// Scaled times of a capture's frames. Shared by workers, each of which sends a part of the frames.
struct Offsets {
  std::vector<uint64_t> at_ps;  ///< Time of each frame since the first one; never decreasing.
  /// Time from the start of one round of the capture to the start of the next.
  uint64_t period_ps = 0;
};

/// The departures of one stream at one worker.
class Departures {
 public:
  /// A phase with the worker's share of the rate.
  struct Part {
    Ticks start, end;
    Gap gap;
    bool unlimited = false;
  };

  /// `parts` are sorted and do not overlap.
  Departures(std::vector<Part> parts, workload::Arrivals arrivals, uint64_t seed)
      : parts_(std::move(parts)),
        mode_(arrivals == workload::Arrivals::kPoisson ? Mode::kPoisson : Mode::kConstant),
        random_(seed) {
    Enter(0);
  }
  /// Repeats the captured times up to `end_ps`. `offsets` must not be empty.
  Departures(std::shared_ptr<const Offsets> offsets, uint64_t end_ps)
      : parts_{{0, TicksOf(end_ps), Gap(), false}},
        mode_(Mode::kCaptured),
        random_(0),
        offsets_(std::move(offsets)) {
    Enter(0);
    // The worker's first frame may be later than the capture's first frame.
    at_ = TicksOf(offsets_->at_ps[0]);
    Arrive();
  }

  /// Returns the time at which the next frame is due; kNever if none follows. If unlimited(), the
  /// frame is due as soon as it can be sent at or after this time.
  uint64_t due_ps() const { return due_ps_; }
  bool unlimited() const { return unlimited_; }
  /// Returns the time until which frames occupy the stream: the time at which the next frame is
  /// due, even if the next frame is beyond the stream's frame limit; or the end of the last phase
  /// if no frame follows. N frames therefore occupy N gaps.
  uint64_t until_ps() const { return due_ps_ == kNever ? PsOf(end_) : due_ps_; }

  /// Advances past the next frame, which has `length` bytes without FCS and was planned at
  /// `now_ps`.
  void Advance(uint32_t length, uint64_t now_ps) {
    if (unlimited_) {
      at_ = TicksOf(now_ps);
    } else if (mode_ == Mode::kConstant) {
      at_ += gap_.Behind(length);
    } else if (mode_ == Mode::kPoisson) {
      at_ += Scale(gap_.Behind(length), -std::log(1 - random_.Unit()));  // 1 - Unit is never 0.
    } else {
      if (++frame_ == offsets_->at_ps.size()) {
        frame_ = 0;
        round_ps_ += offsets_->period_ps;
      }
      at_ = TicksOf(round_ps_ + offsets_->at_ps[frame_]);
    }
    Arrive();
  }

  /// Skips the frames that are due before `before_ps` (below 2^63), but at most `most`, and returns
  /// their number. If that limit is reached, the caller must not send further frames. All skipped
  /// frames have `length` bytes without FCS. Unlimited phases have no frames to skip. The cost does
  /// not depend on the number of skipped frames: for independent arrivals, only the number is
  /// drawn, so later arrivals differ from those without Skip.
  uint64_t Skip(uint64_t before_ps, uint32_t length, uint64_t most);

 private:
  enum class Mode : uint8_t { kConstant, kPoisson, kCaptured };

  static Ticks Scale(Ticks gap, double factor) {
    constexpr uint32_t kBits = 20;  // Fractional bits of the factor; rounding is unbiased.
    return (gap >> kBits) * static_cast<uint64_t>(std::llround(std::ldexp(factor, kBits)));
  }
  /// Sets the next due time to at_, or enters the next part if this one has ended.
  void Arrive() {
    if (at_ >= end_) {
      Enter(part_ + 1);
    } else {
      due_ps_ = PsOf(at_);
    }
  }
  /// Skips the frames of this part that are due before `before_ps`. At least one must be due.
  uint64_t SkipInPart(uint64_t before_ps, uint32_t length);
  void Enter(size_t part) {
    part_ = part;
    unlimited_ = false;
    due_ps_ = kNever;
    if (part_ >= parts_.size()) return;
    const Part& entered = parts_[part_];
    at_ = entered.start;
    end_ = entered.end;
    gap_ = entered.gap;
    unlimited_ = entered.unlimited;
    if (at_ >= end_) return Enter(part + 1);
    due_ps_ = PsOf(at_);
  }

  std::vector<Part> parts_;
  Mode mode_;
  bool unlimited_ = false;
  workload::Random random_;
  std::shared_ptr<const Offsets> offsets_;
  size_t part_ = 0;
  size_t frame_ = 0;
  uint64_t round_ps_ = 0;
  Ticks at_ = 0;
  Ticks end_ = 0;
  Gap gap_;
  uint64_t due_ps_ = kNever;
};

}  // namespace sluice::engine::pktgen
