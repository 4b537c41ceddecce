// SPDX-License-Identifier: BSD-3-Clause
//
// wire=gen: synthetic traffic. Frames are pointers into a ring of prebuilt frames, so that each
// frame costs only one load and one store of its tag.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "emulator/frame_ring.h"
#include "emulator/pacer.h"
#include "emulator/verify.h"
#include "emulator/wire.h"

namespace sluice::emulator {

class GeneratorWire final : public Wire {
 public:
  /// Returns null and sets `error` if the frames would need too much memory.
  static std::unique_ptr<GeneratorWire> Create(const GeneratorOptions& options, VerifyMode verify,
                                               std::string* error);

  void Start(uint64_t now_ns) override { pacer_.Start(now_ns); }
  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  bool IsSource() const override { return true; }
  const WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override;

 private:
  GeneratorWire(const GeneratorOptions& options, VerifyMode verify,
                std::unique_ptr<FrameRing> ring);

  std::unique_ptr<FrameRing> ring_;
  TagVerifier verifier_;
  Pacer pacer_;
  uint32_t position_ = 0;  ///< Next ring entry.
  uint32_t stamped_ = 0;   ///< Number of entries, starting at `position_`, that have already been
                           ///< stamped.
  WireTotals totals_;
  std::array<device::Counter, 1> counters_ = {{{"source_late", 0}}};
};

}  // namespace sluice::emulator
