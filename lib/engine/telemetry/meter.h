// SPDX-License-Identifier: BSD-3-Clause
//
// The engine of sluice-telemetry: counts frames by flow and forwards all of them. Pure; a
// packet::BurstEngine.
//
// Two threads may use a Meter. The *worker* calls ProcessBurst, AtRest and Finish. The *reader*
// calls Closed and Release. All other methods require that both are stopped. A Meter has two
// epochs: the worker fills one, and the reader owns the other from the moment Closed returns it
// until Release. Neither thread waits for the other. A late reader extends an epoch but does not
// lose any counts.
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
#include "packet/engine.h"

namespace sluice::engine::telemetry {

class Meter final : public packet::Engine {
 public:
  /// `setup` must be valid (Error() is empty). `worker` makes the samples of workers with equal
  /// setups differ. `cycles_per_second` is the frequency of `now`. The first epoch starts at `now`.
  /// Epochs end at multiples of their length on that clock, so the epochs of all workers end
  /// together. Throws std::bad_alloc.
  Meter(const Setup& setup, uint32_t worker, uint64_t cycles_per_second, uint64_t now);
  Meter(const Meter&) = delete;

  /// Called by the worker. Forwards every frame unchanged. Reads every frame while a table counts
  /// packets (ExactFlows), the probability is 1, or an oracle is enabled. Otherwise it skips from
  /// one frame with a sampled row to the next; skipped frames count only in the totals, and their
  /// bytes are not read. The counts do not depend on how frames are divided into bursts.
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

  /// Called often by the worker, between bursts: ends the epoch when it is over, and adapts the
  /// probability. If the clock steps back, no epoch ends.
  void AtRest(uint64_t now) override;
  /// Called by the worker after its last frame: ends the epoch, even if it is short. Returns false
  /// if the reader has not released the previous epoch; the worker must then call Finish again
  /// after the reader has released it.
  bool Finish(uint64_t now);

  /// Called by the reader: returns the epoch that is closed but not yet released, or nullptr.
  const Epoch* Closed() const { return closed_.load(std::memory_order_acquire); }
  /// Called by the reader: returns the epoch to the worker. Clears it, which is slow.
  void Release();

  uint64_t memory_bytes() const { return epochs_[0]->memory_bytes() + epochs_[1]->memory_bytes(); }

 private:
  /// A sampled row of a frame; the memory belongs to the burst.
  struct Sampled {
    const uint8_t* frame;
    uint32_t length;
    uint32_t slot;
  };
  /// A frame to be counted; the memory belongs to the burst.
  struct Seen {
    const uint8_t* frame;
    uint32_t length;
  };
  static constexpr uint32_t kSampledAtOnce = 32, kSeenAtOnce = 32;
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  /// Counts samples from frame left_ on. Up to kSampledAtOnce samples are found before the first is
  /// counted, so that fetches of their frames overlap.
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

  /// Counts all frames. A frame's sampled rows are counted after the frame itself.
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
  /// Returns 1 while no sketch is in use, otherwise the pacer's probability.
  double ProbabilityOf(double wished) const { return filling_->AllOpen() ? 1 : wished; }
  void Begin(Epoch* epoch, uint64_t now, double wished);
  bool Close(uint64_t now);

  // Members that are accessed for most bursts.
  /// Number of frames before the next one with a sampled row; kNever while the probability is 1.
  uint64_t left_ = 0;
  Traffic total_;  ///< Totals of this epoch.
  uint32_t longest_ = 0;
  /// A table counts packets, the probability is 1, or an oracle is enabled.
  bool every_packet_ = true;

  const uint32_t rows_;   ///< Rows per key.
  const uint32_t slots_;  ///< Total number of rows of all keys.
  uint32_t slot_ = 0;     ///< Row to sample in the frame at which left_ becomes 0.
  const bool oracle_;
  double asked_probability_ = 1;  ///< The requested probability; samples_ contains the rounded one.
  uint64_t noted_pkts_ = 0;       ///< total_.pkts at the last NoteExactPkts.
  Epoch* filling_;
  RowSampler samples_;
  Pacer pacer_;
  const uint64_t epoch_cycles_;
  uint64_t epoch_end_ = 0;
  std::unique_ptr<Epoch> epochs_[2];
  /// The epoch that the reader owns. The worker sets it; the reader clears it.
  std::atomic<Epoch*> closed_ = nullptr;
};

}  // namespace sluice::engine::telemetry
