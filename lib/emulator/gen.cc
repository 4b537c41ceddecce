// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/gen.h"

#include <algorithm>
#include <utility>

namespace sluice::emulator {

std::unique_ptr<GeneratorWire> GeneratorWire::Create(const GeneratorOptions& options,
                                                     VerifyMode verify, std::string* error) {
  std::unique_ptr<FrameRing> ring = FrameRing::Build(options, error);
  if (ring == nullptr) return nullptr;
  return std::unique_ptr<GeneratorWire>(new GeneratorWire(options, verify, std::move(ring)));
}

GeneratorWire::GeneratorWire(const GeneratorOptions& options, VerifyMode verify,
                             std::unique_ptr<FrameRing> ring)
    : ring_(std::move(ring)), verifier_(*ring_, verify), pacer_(options.rate_pps, options.count) {}

std::span<const device::WireFrame> GeneratorWire::Pull(uint64_t now_ns, uint32_t max) {
  const auto ring = ring_->frames();
  const uint32_t to_end = static_cast<uint32_t>(ring.size()) - position_;
  const uint32_t burst = std::min(pacer_.Due(now_ns, max), to_end);
  if (burst > stamped_) {
    ring_->Stamp(position_ + stamped_, position_ + burst);
    stamped_ = burst;
  }
  return ring.subspan(position_, burst);
}

void GeneratorWire::Consumed(uint32_t count) {
  pacer_.Sent(count);
  totals_.offered += count;
  stamped_ -= count;
  position_ += count;
  if (position_ == ring_->frames().size()) position_ = 0;
}

void GeneratorWire::Deliver(uint64_t, std::span<const device::WireFrame> frames) {
  verifier_.Check(frames, totals_);
}

std::span<const device::Counter> GeneratorWire::Counters() {
  counters_[0].value = pacer_.given_up();
  return counters_;
}

}  // namespace sluice::emulator
