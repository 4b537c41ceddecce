// SPDX-License-Identifier: BSD-3-Clause
//
// Faults of the wire towards the device: seeded, so that a run can be repeated,
// and counted, so that a verifier's findings can be compared with what was done.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/frame_fifo.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// Probabilities are per frame, 0…1.
struct FaultOptions {
  double drop = 0;
  double duplicate = 0;
  double reorder = 0;           ///< Held back until a later frame of its flow has passed.
  double corrupt = 0;           ///< One bit of the last quarter, where the payload is.
  uint64_t delay_ns = 0;        ///< Every frame arrives that much later.
  uint64_t down_period_ns = 0;  ///< The carrier is lost once in this time; 0: never.
  uint64_t down_length_ns = 0;  ///< For this long, at the end of the period.
  double police_pps = 0;        ///< Frames that exceed it are dropped; 0: none.
  uint32_t police_frames = 64;  ///< That may come at once.
  uint64_t seed = 1;

  /// Reads what follows "faults=". False, with one line in `error`, if any of it is wrong.
  bool Read(std::string_view text, std::string* error);

  bool Any() const {
    return drop > 0 || duplicate > 0 || reorder > 0 || corrupt > 0 || delay_ns != 0 ||
           down_period_ns != 0 || police_pps > 0;
  }
};

/// A wire with faults in front of another wire. While the carrier is lost the
/// source pauses, and what the device sends is dropped and counted.
class FaultyWire final : public Wire {
 public:
  FaultyWire(std::unique_ptr<Wire> inner, const FaultOptions& options);

  void Start(uint64_t now_ns) override;
  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override { fifo_.Pop(count); }
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  bool Ready() override { return inner_->Ready(); }
  bool LinkUp(uint64_t now_ns) override;
  bool IsSource() const override { return inner_->IsSource(); }
  const WireTotals& totals() const override { return inner_->totals(); }
  std::span<const device::Counter> Counters() override;

 private:
  enum Kind { kDrop, kDuplicate, kReorder, kCorrupt, kDelay, kLinkDown, kPolice, kKinds };
  static constexpr uint32_t kFrames = 65536;
  static constexpr size_t kBytes = size_t{64} << 20;
  /// Frames injected for one of the inner wire: itself, a duplicate, a held one.
  static constexpr uint32_t kMostForOne = 3;
  /// A held frame that no frame of its flow passes for so many frames goes on.
  static constexpr uint32_t kMostHeld = 65536;

  bool Chance(double probability) { return probability > 0 && uniform_(random_) < probability; }
  bool Exceeds(uint64_t now_ns);
  void Inject(const device::WireFrame& frame, uint64_t now_ns);
  void Append(const device::WireFrame& frame, uint64_t now_ns);
  void ReleaseHeld(uint64_t now_ns);
  bool SameFlowAsHeld(const device::WireFrame& frame) const;

  std::unique_ptr<Wire> inner_;
  const FaultOptions options_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> uniform_{0.0, 1.0};
  FrameFifo fifo_{kFrames, kBytes};
  std::vector<uint8_t> held_;  ///< The frame that is held back; empty if none is.
  uint32_t held_for_ = 0;      ///< Frames that have passed it.
  uint64_t start_ns_ = 0;
  double policed_until_ns_ = 0;  ///< When frames at the policed rate would have come so far.
  bool started_ = false;
  std::array<uint64_t, kKinds> counts_ = {};
  std::vector<device::Counter> counters_;
};

}  // namespace sluice::emulator
