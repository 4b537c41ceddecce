// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/clocked.h"

#include <algorithm>

#include "packet/frame.h"

namespace sluice::device::enso {

using regs::enso::kFlitBytes;

void Clock::Set(uint64_t now_ns) {
  if (now_ns <= now_ns_) return;
  constexpr uint64_t kLongNs = uint64_t{1} << 40;  // no product below overflows
  wire_ahead_ps_ -= std::min(wire_ahead_ps_, std::min(now_ns - now_ns_, kLongNs) * 1000);
  now_ns_ = now_ns;
  cycles_ = now_ns / kNsPerCycle;
}

uint64_t Clock::Arrive(uint32_t bytes) {
  const uint64_t cycle = (now_ns_ + wire_ahead_ps_ / 1000) / kNsPerCycle;
  wire_ahead_ps_ +=
      (uint64_t{bytes} + packet::kFcsBytes + packet::kWireOverheadBytes) * kWirePsPerByte;
  return cycle;
}

void Timestamper::StampTransmit(uint8_t* flit, uint64_t cycles) const {
  for (uint32_t i = 0; i < 4 && offset_ + i < kFlitBytes; ++i) {
    flit[offset_ + i] = static_cast<uint8_t>(cycles >> (24 - 8 * i));
  }
}

void Timestamper::RewriteReceived(uint8_t* flit, uint64_t cycles) const {
  uint32_t sent = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    sent = sent << 8 | (offset_ + i < kFlitBytes ? flit[offset_ + i] : 0);
  }
  StampTransmit(flit, static_cast<uint32_t>(cycles) - sent);
}

void RateLimiter::Configure(bool enabled, uint16_t numerator, uint16_t denominator,
                            uint64_t cycles) {
  limited_ = enabled && (numerator == 0 || numerator < denominator);
  numerator_ = numerator;
  denominator_ = std::max<uint32_t>(denominator, 1);
  seen_ = cycles;
  allowance_ = 0;
}

uint64_t RateLimiter::Allowance(uint64_t cycles) {
  if (!limited_) return kUnlimited;
  allowance_ += PassingCycles(cycles) - PassingCycles(seen_);
  seen_ = cycles;
  return allowance_;
}

uint64_t RateLimiter::PassingCycles(uint64_t until) const {
  return until / denominator_ * numerator_ + std::min<uint64_t>(until % denominator_, numerator_);
}

}  // namespace sluice::device::enso
