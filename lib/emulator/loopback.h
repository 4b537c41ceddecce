// SPDX-License-Identifier: BSD-3-Clause
//
// wire=loopback: returns the frames that the device sends, in order.
#pragma once

#include <array>

#include "emulator/frame_fifo.h"
#include "emulator/wire.h"
#include "emulator/wire_counters.h"

namespace sluice::emulator {

class LoopbackWire final : public Wire {
 public:
  static constexpr uint32_t kFrames = 4096;
  static constexpr size_t kBytes = size_t{8} << 20;

  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override {
    return fifo_.Front(now_ns, max);
  }
  void Consumed(uint32_t count) override {
    fifo_.Pop(count);
    totals_.offered += count;
  }
  /// Frames that do not fit are dropped and counted.
  void Deliver(uint64_t, std::span<const device::WireFrame> frames) override {
    for (const device::WireFrame& frame : frames) {
      if (fifo_.Push(frame, 0) == nullptr) ++counters_[0].value;
    }
  }
  const WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override { return counters_; }

 private:
  FrameFifo fifo_{kFrames, kBytes};
  WireTotals totals_;
  std::array<device::Counter, 1> counters_ = device::ZeroCounters(LoopbackCounters::kRows);
};

}  // namespace sluice::emulator
