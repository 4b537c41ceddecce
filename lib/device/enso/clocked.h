// SPDX-License-Identifier: BSD-3-Clause
//
// What the Ensō NIC derives from its 200 MHz clock (docs/enso-hardware.md): round robin by the
// instants of arrival, timestamps, and the transmit rate limiter. Time comes from the runner
// through SetTime, so that it may be virtual.
#pragma once

#include <cstdint>

#include "regs/enso.h"

namespace sluice::device::enso {

/// The NIC's clock, and the instant at which each frame of a burst arrives on a
/// 100 Gb/s wire: the runner hands frames over in bursts, the wire does not.
class Clock {
 public:
  static constexpr uint64_t kNsPerCycle = 1'000'000'000 / regs::enso::kClockHz;
  static constexpr uint64_t kWirePsPerByte = 80;

  /// Time that goes back is ignored.
  void Set(uint64_t now_ns);
  uint64_t Cycles() const { return cycles_; }

  /// Cycle in which a frame of `bytes` (without FCS) arrives, behind those before.
  uint64_t Arrive(uint32_t bytes);

 private:
  uint64_t now_ns_ = 0;
  uint64_t cycles_ = 0;
  uint64_t wire_ahead_ps_ = 0;  ///< How far the wire's last frame ends after now.
};

/// Four big-endian bytes in the first flit of a frame: the cycle counter on
/// transmit, their age on receive. Every frame, while enabled.
class Timestamper {
 public:
  /// Only the low 6 bits of `offset` are wired; bytes beyond the flit are lost.
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

/// Names the fallback pipe of a frame by the cycle in which it arrives: in every
/// cycle the counter x becomes (x + 1) & mask, whoever arrives and however many
/// fallback pipes there are. Pipes that the mask does not reach get nothing.
class RoundRobin {
 public:
  void SetMask(uint32_t mask, uint64_t cycle);
  /// `cycle` is not before that of the last SetMask.
  uint32_t At(uint64_t cycle) const;

 private:
  uint32_t mask_ = 0;
  uint64_t since_ = 0;  ///< Cycle in which the mask was set.
  uint32_t first_ = 0;  ///< The counter in that cycle, still under the mask before.
};

/// Global: the first `numerator` of every `denominator` cycles pass one flit each;
/// the first period begins when the limiter is configured.
class RateLimiter {
 public:
  static constexpr uint64_t kUnlimited = ~uint64_t{0};

  void Configure(bool enabled, uint16_t numerator, uint16_t denominator, uint64_t cycles);

  /// Adds the cycles since the last call, then tells how many flits may pass.
  uint64_t Allowance(uint64_t cycles);
  void Pass(uint64_t flits) {
    if (limited_) allowance_ -= flits;
  }
  /// Nothing waits to be sent: cycles that pass flits do not wait for later ones.
  void Idle() { allowance_ = 0; }

 private:
  /// Of the first `cycles` cycles since Configure.
  uint64_t PassingCycles(uint64_t cycles) const;

  bool limited_ = false;
  uint32_t numerator_ = 0;
  uint32_t denominator_ = 1;
  uint64_t start_ = 0;  ///< Cycle of Configure.
  uint64_t seen_ = 0;   ///< Cycles since then up to which `allowance_` is counted.
  uint64_t allowance_ = 0;
};

}  // namespace sluice::device::enso
