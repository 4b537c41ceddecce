// SPDX-License-Identifier: BSD-3-Clause
//
// The engine of sluice-telemetry: counts frames by flow and forwards them all. Pure;
// a nic::FrameEngine.
//
// Two threads may use a Meter. The *worker* calls Process, AtRest and Finish. The *reader* calls
// Closed and Release. Everything else needs both to rest. There are two epochs in a Meter, one
// that the worker fills and one that belongs to the reader from the moment that Closed returns it
// until Release; neither waits for the other. A reader that is late makes an epoch longer, and
// loses nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/telemetry/epoch.h"
#include "engine/telemetry/gap_sampler.h"
#include "engine/telemetry/pacer.h"
#include "engine/telemetry/setup.h"
#include "packet/frame.h"

namespace sluice::engine::telemetry {

class Meter {
 public:
  static constexpr std::array<std::string_view, 0> kDropReasons{};

  /// `setup` without Error(). `worker` distinguishes the samples of workers with equal setups.
  /// `cycles_per_second` of `now`. Epochs end at multiples of their length on that clock, so that
  /// those of all workers end together; the first starts `now`. Throws std::bad_alloc.
  Meter(const Setup& setup, uint32_t worker, uint64_t cycles_per_second, uint64_t now);
  Meter(const Meter&) = delete;

  /// Worker. Forwards every frame as it is. Most frames that are not sampled cost a comparison
  /// and their share of the totals; their bytes are not looked at.
  packet::Verdict Process(packet::Frame& frame, uint64_t /*now*/) {
    total_.pkts += 1;
    total_.bytes += frame.length;
    longest_ = frame.length > longest_ ? frame.length : longest_;
    if (skip_ < slots_) [[unlikely]] {
      Count(frame.data, frame.length);
    } else {
      skip_ -= slots_;
    }
    return packet::kForward;
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
  uint64_t memory_bytes() const {
    return epochs_[0]->memory_bytes() + epochs_[1]->memory_bytes();
  }

 private:
  /// Of a frame with a sampled row, or of any while all are counted.
  [[gnu::noinline]] void Count(const uint8_t* frame, uint32_t length);
  void CountWhole(const uint8_t* frame, uint32_t length);
  void CountExactly(const uint8_t* frame, uint32_t length);
  uint64_t CountRows(const uint8_t* frame, uint32_t length, uint64_t slot);
  void SetProbability(double probability);
  void NoteExactPkts();
  void Begin(Epoch* epoch, uint64_t now, double probability);
  bool Close(uint64_t now);

  // What Process touches.
  uint64_t skip_ = 0;   ///< (packet, row) pairs until the next that is sampled.
  uint64_t slots_;      ///< Rows of all keys: pairs per packet.
  Traffic total_;       ///< Of this epoch.
  uint32_t longest_ = 0;

  const uint32_t rows_;  ///< Of each key.
  const bool oracle_;
  bool every_packet_ = true;   ///< skip_ stays 0: the probability is 1, or there is an oracle.
  uint64_t sampled_skip_ = 0;  ///< With an oracle: what skip_ would be.
  double asked_probability_ = 1;  ///< That the pacer wished; gaps_ has the one it got.
  uint64_t noted_pkts_ = 0;    ///< Of total_: when exact packets were noted last.
  Epoch* filling_;
  GapSampler gaps_;
  Pacer pacer_;
  const uint64_t epoch_cycles_;
  uint64_t epoch_end_ = 0;
  std::unique_ptr<Epoch> epochs_[2];
  /// The epoch that belongs to the reader. Set by the worker, cleared by the reader.
  std::atomic<Epoch*> closed_ = nullptr;
};

}  // namespace sluice::engine::telemetry
