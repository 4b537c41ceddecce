// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/clocked.h"

#include <algorithm>

#include "packet/frame.h"

namespace sluice::device::enso {

using regs::enso::kFlitBytes;

void Clock::Set(uint64_t now_ns) {
  if (now_ns <= now_ns_) return;
  constexpr uint64_t kLongNs = uint64_t{1} << 40;  // avoids overflow of the products below
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

void RoundRobin::SetMask(uint32_t mask, uint64_t cycle) {
  first_ = At(cycle);
  mask_ = mask;
  since_ = cycle;
}

// After its first step, the counter changes only in the run of ones that begins at bit 0 of the
// mask: the mask clears any carry out of the run, so the bits above the run stay unchanged.
uint32_t RoundRobin::At(uint64_t cycle) const {
  if (cycle == since_) return first_;
  const uint32_t second = (first_ + 1) & mask_;
  const uint32_t run = mask_ & ~(mask_ + 1);
  const uint32_t steps = static_cast<uint32_t>(cycle - since_ - 1);
  return (second & ~run) | ((second + steps) & run);
}

void RateLimiter::Configure(bool enabled, uint16_t numerator, uint16_t denominator,
                            uint64_t cycles) {
  limited_ = enabled && (numerator == 0 || numerator < denominator);
  numerator_ = numerator;
  denominator_ = std::max<uint32_t>(denominator, 1);
  start_ = cycles;
  seen_ = 0;
  allowance_ = 0;
}

uint64_t RateLimiter::Allowance(uint64_t cycles) {
  if (!limited_) return kUnlimited;
  const uint64_t seen = cycles - start_;
  allowance_ += PassingCycles(seen) - PassingCycles(seen_);
  seen_ = seen;
  return allowance_;
}

uint64_t RateLimiter::PassingCycles(uint64_t cycles) const {
  return cycles / denominator_ * numerator_ + std::min<uint64_t>(cycles % denominator_, numerator_);
}

}  // namespace sluice::device::enso
