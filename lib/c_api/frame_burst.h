// SPDX-License-Identifier: BSD-3-Clause
//
// Presents the calling program's frames to engines as a packet::Burst.
#pragma once

#include <cstdint>
#include <span>

#include "c_api/arena.h"
#include "packet/burst.h"
#include "packet/frame.h"
#include "sluice/engines.h"

namespace sluice::c_api {

static_assert(SLUICE_FORWARD == static_cast<int>(packet::Action::kForward));
static_assert(SLUICE_CONSUME == static_cast<int>(packet::Action::kConsume));
static_assert(SLUICE_DROP == static_cast<int>(packet::Action::kDrop));
static_assert(SLUICE_PASS == static_cast<int>(packet::Action::kPass));

class FrameBurst {
 public:
  /// `arena` receives frames that do not fit into their buffers. If the arena has no memory for a
  /// frame, the frame is dropped with reason `no_memory`.
  FrameBurst(std::span<sluice_frame> frames, Arena& arena, uint8_t no_memory)
      : frames_(frames), arena_(arena), no_memory_(no_memory) {
    for (sluice_frame& frame : frames_) {
      frame.verdict = SLUICE_FORWARD;
      frame.reason = frame.moved = frame.reserved = 0;
      totals_.Add(frame.length);
    }
  }

  uint32_t size() const { return static_cast<uint32_t>(frames_.size()); }
  packet::BurstTotals totals() const { return totals_; }
  packet::Frame At(uint32_t number) const {
    const sluice_frame& frame = frames_[number];
    return {frame.data, frame.length, frame.headroom, frame.tailroom};
  }
  uint8_t* spare() const { return nullptr; }

  void Answer(uint32_t number, const packet::Frame& frame, packet::Verdict verdict) {
    sluice_frame& mine = frames_[number];
    mine.verdict = static_cast<uint8_t>(verdict.action);
    const bool drops = verdict.action == packet::Action::kDrop;
    mine.reason = drops ? verdict.reason : uint8_t{0};
    if (drops || verdict.action == packet::Action::kConsume) return;
    if (frame.data == mine.data && frame.length == mine.length) return;
    if (!Place(frame, mine)) [[unlikely]] {
      mine.verdict = SLUICE_DROP;
      mine.reason = no_memory_;
    }
  }

 private:
  /// Stores the answer `frame` in `mine`. Copies the frame's bytes to the arena if they are outside
  /// the buffer of `mine`. Returns false if no memory is available.
  bool Place(const packet::Frame& frame, sluice_frame& mine) {
    const auto address = [](const uint8_t* at) { return reinterpret_cast<uintptr_t>(at); };
    const uintptr_t begin = address(mine.data) - mine.headroom;
    const uintptr_t end = address(mine.data) + mine.length + mine.tailroom;
    const uintptr_t at = address(frame.data);
    if (at >= begin && at <= end && frame.length <= end - at) [[likely]] {
      mine.headroom = static_cast<uint32_t>(at - begin);
      mine.tailroom = static_cast<uint32_t>(end - at - frame.length);
      mine.data = frame.data;
      mine.length = frame.length;
      return true;
    }
    uint8_t* const copy = arena_.Copy(frame.data, frame.length);
    if (copy == nullptr) return false;
    mine.data = copy;
    mine.length = frame.length;
    mine.headroom = mine.tailroom = 0;
    mine.moved = 1;
    return true;
  }

  std::span<sluice_frame> frames_;
  Arena& arena_;
  packet::BurstTotals totals_;
  uint8_t no_memory_;
};
static_assert(packet::Burst<FrameBurst>);

}  // namespace sluice::c_api
