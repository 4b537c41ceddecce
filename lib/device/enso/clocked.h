// SPDX-License-Identifier: BSD-3-Clause
//
// The functions that the Ensō NIC derives from its 200 MHz clock (docs/enso-hardware.md): round
// robin based on arrival times, timestamps and the transmit rate limiter. The caller sets the time,
// which may be virtual, through Clock::Set.
#pragma once

#include <cstdint>

#include "regs/enso.h"

namespace sluice::device::enso {

/// The NIC's clock. Callers pass frames in bursts, so it also computes when each frame of a burst
/// would arrive on a 100 Gb/s wire.
class Clock {
 public:
  static constexpr uint64_t kNsPerCycle = 1'000'000'000 / regs::enso::kClockHz;
  static constexpr uint64_t kWirePsPerByte = 80;

  /// Sets the time. Ignores a time before the current one.
  void Set(uint64_t now_ns);
  uint64_t Cycles() const { return cycles_; }

  /// Returns the cycle in which a frame of `bytes` bytes (without FCS) arrives after all earlier
  /// frames.
  uint64_t Arrive(uint32_t bytes);

 private:
  uint64_t now_ns_ = 0;
  uint64_t cycles_ = 0;
  uint64_t wire_ahead_ps_ = 0;  ///< Time from now to the end of the last frame on the wire.
};

/// If enabled, stores a four-byte big-endian timestamp in the first flit of every frame. On
/// transmit, the timestamp is the cycle counter; on receive, it is replaced by the frame's age in
/// cycles.
class Timestamper {
 public:
  /// Only the low 6 bits of `offset` are used. Timestamp bytes beyond the end of the flit are lost.
  void Configure(bool enabled, uint64_t offset) {
    enabled_ = enabled;
    offset_ = static_cast<uint32_t>(offset % regs::enso::kFlitBytes);
  }
  bool enabled() const { return enabled_; }
  void StampTransmit(uint8_t* flit, uint64_t cycles) const;
  void RewriteReceived(uint8_t* flit, uint64_t cycles) const;

 private:
  bool enabled_ = false;
  uint32_t offset_ = 18;  ///< IPv4 identification and fragment fields.
};

/// Selects a frame's fallback pipe by the cycle in which the frame arrives. Every cycle, the
/// counter x becomes (x + 1) & mask, regardless of arrivals and of the number of fallback pipes.
/// Pipes whose number the counter never reaches receive no frames.
class RoundRobin {
 public:
  void SetMask(uint32_t mask, uint64_t cycle);
  /// Returns the counter's value in `cycle`, which must not precede the cycle of the last SetMask.
  uint32_t At(uint64_t cycle) const;

 private:
  uint32_t mask_ = 0;
  uint64_t since_ = 0;  ///< Cycle in which the mask was set.
  uint32_t first_ = 0;  ///< The counter in cycle since_, computed with the previous mask.
};

/// The global rate limiter: in the first `numerator` of every `denominator` cycles, one flit passes
/// per cycle. The first period begins when the limiter is configured.
class RateLimiter {
 public:
  static constexpr uint64_t kUnlimited = ~uint64_t{0};

  void Configure(bool enabled, uint16_t numerator, uint16_t denominator, uint64_t cycles);

  /// Adds one flit to the allowance for each cycle since the last call in which the rate permits a
  /// flit. Returns the number of flits that may pass now, or kUnlimited if the limiter is off.
  uint64_t Allowance(uint64_t cycles);
  void Pass(uint64_t flits) {
    if (limited_) allowance_ -= flits;
  }
  /// Discards unused allowance. Called when no data is waiting.
  void Idle() { allowance_ = 0; }

 private:
  /// Returns the number of cycles, among the first `cycles` since Configure, in which a flit may
  /// pass.
  uint64_t PassingCycles(uint64_t cycles) const;

  bool limited_ = false;
  uint32_t numerator_ = 0;
  uint32_t denominator_ = 1;
  uint64_t start_ = 0;  ///< Cycle in which Configure was called.
  uint64_t seen_ = 0;   ///< Cycles since start_ that allowance_ includes.
  uint64_t allowance_ = 0;
};

}  // namespace sluice::device::enso
