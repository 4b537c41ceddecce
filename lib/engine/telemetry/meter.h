// SPDX-License-Identifier: BSD-3-Clause
//
// The engine of sluice-telemetry: counts frames by flow and forwards them all. Pure;
// a nic::BurstEngine.
//
// Two threads may use a Meter. The *worker* calls ProcessBurst, AtRest and Finish. The *reader*
// calls Closed and Release. Everything else needs both to rest. There are two epochs in a Meter,
// one that the worker fills and one that belongs to the reader from the moment that Closed returns
// it until Release; neither waits for the other. A reader that is late makes an epoch longer, and
// loses nothing.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "engine/telemetry/epoch.h"
#include "engine/telemetry/pacer.h"
#include "engine/telemetry/row_sampler.h"
#include "engine/telemetry/setup.h"
#include "packet/burst.h"

namespace sluice::engine::telemetry {

class Meter {
 public:
  static constexpr std::array<std::string_view, 0> kDropReasons{};

  /// `setup` without Error(). `worker` distinguishes the samples of workers with equal setups.
  /// `cycles_per_second` of `now`. Epochs end at multiples of their length on that clock, so that
  /// those of all workers end together; the first starts `now`. Throws std::bad_alloc.
  Meter(const Setup& setup, uint32_t worker, uint64_t cycles_per_second, uint64_t now);
  Meter(const Meter&) = delete;

  /// Worker. Forwards every frame as it is. Looks at each while tables count packets one by one
  /// (ExactFlows), and while the probability is 1. Otherwise it jumps from each frame with a
  /// sampled row to the next: the frames between cost their share of the totals, and their bytes
  /// are not looked at. What is counted does not depend on how frames are divided into bursts.
  template <packet::Burst Burst>
  void ProcessBurst(const Burst& burst, uint64_t /*now*/) {
    const packet::BurstTotals totals = burst.totals();
    total_.pkts += burst.size();
    total_.bytes += totals.bytes;
    longest_ = std::max(longest_, totals.longest);
    if (every_packet_) {
      CountEvery(burst);
    } else if (left_ >= burst.size()) {
      left_ -= burst.size();
    } else {
      CountSampled(burst);
    }
  }

  /// Worker, between bursts, and often: ends epochs and adapts the probability. A clock that
  /// steps back ends nothing.
  void AtRest(uint64_t now);
  /// Worker, after its last frame: ends the epoch, however short. False: the reader still has
  /// the last one, and must release it before another try.
  bool Finish(uint64_t now);

  /// Reader: the epoch that was closed last and not released yet; nullptr if there is none.
  const Epoch* Closed() const { return closed_.load(std::memory_order_acquire); }
  /// Reader: gives back what Closed returned. Clears it, which takes a while.
  void Release();

  /// Both buffers.
  uint64_t memory_bytes() const { return epochs_[0]->memory_bytes() + epochs_[1]->memory_bytes(); }

 private:
  /// A row that is sampled of a frame, which is still the burst's.
  struct Sampled {
    const uint8_t* frame;
    uint32_t length;
    uint32_t slot;
  };
  /// A frame that is looked at, which is still the burst's.
  struct Seen {
    const uint8_t* frame;
    uint32_t length;
  };
  static constexpr uint32_t kSampledAtOnce = 32, kSeenAtOnce = 32;
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  /// From frame left_ on. All samples of a burst are found before the first of them is counted,
  /// so that their frames are fetched at the same time.
  template <packet::Burst Burst>
  void CountSampled(const Burst& burst) {
    std::array<Sampled, kSampledAtOnce> sampled;
    uint32_t found = 0;
    uint64_t at = left_;
    uint32_t slot = slot_;
    while (at < burst.size()) {
      const packet::Frame frame = burst.At(static_cast<uint32_t>(at));
      __builtin_prefetch(frame.data);
      sampled[found++] = {frame.data, frame.length, slot};
      const RowSampler::Sample next = samples_.Next();
      at += next.frames;
      slot = next.row;
      if (found == kSampledAtOnce) [[unlikely]] {
        CountRows(sampled);
        found = 0;
      }
    }
    left_ = at - burst.size();
    slot_ = slot;
    CountRows(std::span(sampled).first(found));
  }

  /// All frames, the sampled rows of each after it.
  template <packet::Burst Burst>
  void CountEvery(const Burst& burst) {
    std::array<Seen, kSeenAtOnce> seen;
    for (uint32_t at = 0; at < burst.size();) {
      uint32_t found = 0;
      for (; found < kSeenAtOnce && at < burst.size(); ++found, ++at) {
        const packet::Frame frame = burst.At(at);
        __builtin_prefetch(frame.data);
        seen[found] = {frame.data, frame.length};
      }
      CountFrames(std::span(seen).first(found));
    }
  }

  [[gnu::noinline]] void CountRows(std::span<const Sampled> sampled);
  [[gnu::noinline]] void CountFrames(std::span<const Seen> seen);
  void CountKeys(FlowCounter* counter, std::span<const Seen> frames);
  uint64_t CountSamplesOf(const Seen& frame);
  void CountForOracles(std::span<const Seen> seen);
  void SetProbability(double probability);
  void NoteExactPkts();
  /// 1 while no sketch is in use, or what the pacer wishes.
  double ProbabilityOf(double wished) const { return filling_->AllOpen() ? 1 : wished; }
  void Begin(Epoch* epoch, uint64_t now, double wished);
  bool Close(uint64_t now);

  // What most bursts touch.
  uint64_t left_ = 0;  ///< Frames until the next with a sampled row; kNever while all are counted.
  Traffic total_;      ///< Of this epoch.
  uint32_t longest_ = 0;
  bool every_packet_ = true;  ///< A table counts, the probability is 1, or there is an oracle.

  const uint32_t rows_;   ///< Of each key.
  const uint32_t slots_;  ///< Rows of all keys, from which samples are drawn.
  uint32_t slot_ = 0;     ///< That is sampled of the frame when none is left.
  const bool oracle_;
  double asked_probability_ = 1;  ///< That was wished; samples_ has the one it got.
  uint64_t noted_pkts_ = 0;       ///< Of total_: when exact packets were noted last.
  Epoch* filling_;
  RowSampler samples_;
  Pacer pacer_;
  const uint64_t epoch_cycles_;
  uint64_t epoch_end_ = 0;
  std::unique_ptr<Epoch> epochs_[2];
  /// The epoch that belongs to the reader. Set by the worker, cleared by the reader.
  std::atomic<Epoch*> closed_ = nullptr;
};

}  // namespace sluice::engine::telemetry
