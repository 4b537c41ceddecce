// SPDX-License-Identifier: BSD-3-Clause
//
// Checks the frames that a card copies to host memory (device/grid/samples.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "device/grid/card.h"
#include "device/grid/samples.h"
#include "emulator/recording.h"

namespace sluice::emulator {

/// All methods may be called by any thread.
class SampleReader {
 public:
  /// `samples` must have kSamples slots. `recording` must outlive this object.
  SampleReader(device::grid::Sample* samples, device::grid::Control& control, Recording& recording)
      : samples_(samples), control_(control), recording_(recording) {}

  /// Checks the samples that have arrived since the last call, and frees their slots.
  void CheckAll() {
    const std::scoped_lock lock(mutex_);
    for (;;) {
      device::grid::Sample& sample = samples_[read_ % device::grid::kSamples];
      const uint64_t number = std::atomic_ref(sample.number).load(std::memory_order_acquire);
      if (number != uint64_t{read_} + 1) break;
      ++read_;
      const auto length = static_cast<uint32_t>(sample.length);
      if (length != 0) recording_.Check({sample.data, length});
    }
    std::atomic_ref(control_.samples_read).store(read_, std::memory_order_release);
  }

  /// Calls f(recording) while no thread is checking samples.
  template <typename F>
  void Read(F f) {
    const std::scoped_lock lock(mutex_);
    f(recording_);
  }

 private:
  device::grid::Sample* const samples_;
  device::grid::Control& control_;
  std::mutex mutex_;
  Recording& recording_;
  uint32_t read_ = 0;
};

}  // namespace sluice::emulator
