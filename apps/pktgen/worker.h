// SPDX-License-Identifier: BSD-3-Clause
//
// The engine of a worker lcore: sends due frames and checks received ones. All results are stored
// in the generator, so that they can be read after the worker has stopped.
#pragma once

#include <rte_cycles.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/pktgen/frame_set.h"
#include "generator.h"
#include "packet/burst.h"
#include "packet/engine.h"
#include "packet/frame.h"
#include "settings.h"

namespace sluice::pktgen {

class Worker final : public packet::Engine {
 public:
  /// `generator` must outlive the object. `iface`: value of --iface, for error messages.
  Worker(Generator& generator, uint32_t worker, std::string_view iface)
      : generator_(&generator), place_(&generator.place(worker)), worker_(worker), iface_(iface) {}

  /// Returns an error if the queue cannot send all frames of this worker in the first round;
  /// otherwise an empty string.
  std::string QueueError(const packet::CanEmit& can_emit) override {
    const engine::pktgen::Traffic& traffic = generator_->round()->traffic();
    for (size_t stream = 0; stream < traffic.streams(); ++stream) {
      const engine::pktgen::FrameSet& frames = traffic.share(stream, worker_).frames;
      for (size_t i = 0; i < frames.size(); ++i) {
        const auto& entry = frames.entry(i);
        if (can_emit(frames.bytes(entry), entry.length)) continue;
        return "--iface=" + std::string(iface_) + ": " +
               CannotSend(traffic.name(stream), i, entry.length);
      }
    }
    return "";
  }

  void set_counters(nic::QueueCounters& counters) override { place_->queue = &counters; }

  template <typename Queue>
  uint32_t Generate(Queue& queue, uint64_t /*now*/) {
    if (Round* const round = generator_->round(); round != round_) [[unlikely]]
      Join(round);
    if (round_ == nullptr) return 0;
    const uint64_t start = round_->start_cycles();
    if (start == 0) return 0;
    const uint64_t now_ps = generator_->clock().Ps(rte_rdtsc() - start);
    const uint64_t stop_ps = round_->stop_ps();
    if (stop_ps != engine::pktgen::kNever && !sender_->over()) [[unlikely]]
      sender_->Stop(stop_ps);
    if (now_ps - polled_ps_ > WorkerState::kPausePs) [[unlikely]] {
      paused_ps_ += now_ps - polled_ps_;
      round_->state(worker_).paused_ps.store(paused_ps_, std::memory_order_relaxed);
    }
    polled_ps_ = now_ps;
    const uint32_t planned = sender_->Plan(now_ps);
    if (planned == 0) {
      if (sender_->over()) round_->state(worker_).over.store(true, std::memory_order_release);
      return 0;
    }
    if (!generator_->link_up()) [[unlikely]]
      return 0;
    const uint32_t left = queue.Emit(*sender_, planned);
    sender_->Sent(left, now_ps);
    return left;
  }

  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t /*now*/) {
    // Arrival time of the frames: the time after the poll that found them.
    const uint64_t start = round_ == nullptr ? 0 : round_->start_cycles();
    const uint64_t now_ns = start == 0 ? 0 : generator_->clock().Ps(rte_rdtsc() - start) / 1000;
    const uint32_t size = burst.size();
    for (uint32_t i = 0; i < size; ++i) {
      if (i + kAhead < size) {
        const packet::Frame ahead = burst.At(i + kAhead);
        __builtin_prefetch(ahead.data + ahead.length - engine::pktgen::kTagBytes);
      }
      const packet::Frame frame = burst.At(i);
      if (checker_ != nullptr) checker_->See(frame.data, frame.length, now_ns);
      burst.Answer(i, frame, packet::kConsume);
    }
  }

 private:
  /// Number of frames by which tags are prefetched ahead.
  static constexpr uint32_t kAhead = 8;

  /// Switches to `round`; the worker no longer uses the previous round.
  void Join(Round* round) {
    round_ = round;
    polled_ps_ = paused_ps_ = 0;
    sender_ = round == nullptr ? nullptr : &round->trial().sender(worker_);
    checker_ = round == nullptr ? nullptr : &round->trial().checker(worker_);
    place_->at.store(round, std::memory_order_release);
  }

  Generator* generator_;
  WorkerPlace* place_;
  Round* round_ = nullptr;
  uint64_t polled_ps_ = 0;
  uint64_t paused_ps_ = 0;
  engine::pktgen::Sender* sender_ = nullptr;
  engine::pktgen::Checker* checker_ = nullptr;
  uint32_t worker_;
  std::string_view iface_;
};

}  // namespace sluice::pktgen
