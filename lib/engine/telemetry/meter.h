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
#include "engine/telemetry/pacer.h"
#include "engine/telemetry/row_sampler.h"
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
    bytes_ += frame.length;
    if (frame.length > longest_) [[unlikely]] longest_ = frame.length;
    if (left_ == 0) [[unlikely]] {
      Count(frame.data, frame.length);
    } else {
      --left_;
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
  [[gnu::noinline]] void CountEvery(const uint8_t* frame, uint32_t length);
  void CountWhole(const uint8_t* frame, uint32_t length);
  void CountExactly(const uint8_t* frame, uint32_t length);
  uint32_t CountRows(const uint8_t* frame, uint32_t length);
  Traffic total() const { return {upto_ - left_, bytes_}; }
  void SetProbability(double probability);
  void NoteExactPkts();
  void Begin(Epoch* epoch, uint64_t now, double probability);
  bool Close(uint64_t now);

  // What Process touches.
  uint64_t left_ = 0;   ///< Frames until the next with a sampled row.
  uint64_t bytes_ = 0;  ///< Of this epoch.
  uint32_t longest_ = 0;

  uint64_t upto_ = 0;  ///< Frames of this epoch when none is left.
  const uint32_t rows_;   ///< Of each key.
  const uint32_t slots_;  ///< Rows of all keys, from which samples are drawn.
  uint32_t slot_ = 0;     ///< That is sampled of the frame when none is left.
  const bool oracle_;
  bool every_packet_ = true;   ///< left_ stays 0: the probability is 1, or there is an oracle.
  uint32_t sampled_left_ = 0;  ///< With an oracle: what left_ would be.
  double asked_probability_ = 1;  ///< That the pacer wished; samples_ has the one it got.
  uint64_t noted_pkts_ = 0;    ///< Of total(): when exact packets were noted last.
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
