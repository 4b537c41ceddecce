// SPDX-License-Identifier: BSD-3-Clause
//
// When the frames of one stream are due at one worker: by a rate, as independent arrivals, or as
// a capture has them. Every time is computed from the start of its phase and not from when the
// frame before it really left. Times count from the start of the run.
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

/// Times of a capture's frames, scaled; shared by workers, each of which sends a part.
struct Offsets {
  std::vector<uint64_t> at_ps;  ///< Of each frame since the first one; never decreasing.
  uint64_t period_ps = 0;       ///< From one round of the capture to the next.
};

/// Used by one worker.
class Departures {
 public:
  /// A phase as a worker sees it, its own share of the rate.
  struct Part {
    Ticks start, end;
    Gap gap;
    bool unlimited = false;
  };

  /// Phases in order, without overlap.
  Departures(std::vector<Part> parts, workload::Arrivals arrivals, uint64_t seed)
      : parts_(std::move(parts)),
        mode_(arrivals == workload::Arrivals::kPoisson ? Mode::kPoisson : Mode::kConstant),
        random_(seed) {
    Enter(0);
  }
  /// As captured, again and again up to `end_ps`. `offsets` is not empty.
  Departures(std::shared_ptr<const Offsets> offsets, uint64_t end_ps)
      : parts_{{0, TicksOf(end_ps), Gap(), false}},
        mode_(Mode::kCaptured),
        random_(0),
        offsets_(std::move(offsets)) {
    Enter(0);
    at_ = TicksOf(offsets_->at_ps[0]);  // A worker's part may begin later than the capture.
    Arrive();
  }

  /// When the next frame is due; kNever: there is none. Where unlimited() it is due as soon as it
  /// can be sent, from this time on.
  uint64_t due_ps() const { return due_ps_; }
  bool unlimited() const { return unlimited_; }
  /// When the next frame is due, or was if frames are counted and the last had its turn; without a
  /// next frame, the end of the last phase. N frames so take N gaps.
  uint64_t until_ps() const { return due_ps_ == kNever ? PsOf(end_) : due_ps_; }

  /// The next frame, of `length` bytes without FCS, got its turn at `now_ps`.
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

  /// Passes over the frames that are due before `before_ps`, which is below 2^63; over `most` at
  /// most, after which no frame may follow. Returns how many. All have `length` bytes without FCS;
  /// an unlimited phase has none. Costs the same for any number of them, and so draws the number of
  /// independent arrivals, not each arrival: later ones are others than without it.
  uint64_t Skip(uint64_t before_ps, uint32_t length, uint64_t most);

 private:
  enum class Mode : uint8_t { kConstant, kPoisson, kCaptured };

  static Ticks Scale(Ticks gap, double factor) {
    constexpr uint32_t kBits = 20;  // Of the factor's fraction; rounding has no sign.
    return (gap >> kBits) * static_cast<uint64_t>(std::llround(std::ldexp(factor, kBits)));
  }
  /// The next frame is due at at_, unless the part has ended.
  void Arrive() {
    if (at_ >= end_) {
      Enter(part_ + 1);
    } else {
      due_ps_ = PsOf(at_);
    }
  }
  /// Skip up to the end of this part, or `before_ps` if that is earlier: frames are due then.
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
