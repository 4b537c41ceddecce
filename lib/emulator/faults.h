// SPDX-License-Identifier: BSD-3-Clause
//
// Injects faults into frames that the wire sends to the device. Faults are seeded, so that a run
// can be repeated, and counted, so that a verifier's findings can be compared with them.
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
#include "emulator/wire_counters.h"

namespace sluice::emulator {

/// Faults to inject. Probabilities are per frame, 0…1.
struct FaultOptions {
  double drop = 0;
  double duplicate = 0;
  /// Probability that a frame is delayed until a later frame of its flow has passed.
  double reorder = 0;
  double corrupt = 0;           ///< Probability that one bit in the last quarter of a frame is
                                ///< flipped.
  uint64_t delay_ns = 0;        ///< Delay of every frame.
  uint64_t down_period_ns = 0;  ///< Period in which the carrier is lost once; 0 for never.
  uint64_t down_length_ns = 0;  ///< Duration of the carrier loss, which is at the end of the
                                ///< period.
  double police_pps = 0;        ///< Frames in excess of this rate are dropped; 0 for no limit.
  uint32_t police_frames = 64;  ///< Maximum burst allowed by the rate limit.
  uint64_t seed = 1;

  /// Parses the text after "faults=". If it is invalid, returns false and sets `error` to a
  /// one-line message.
  bool Read(std::string_view text, std::string* error);

  bool Any() const {
    return drop > 0 || duplicate > 0 || reorder > 0 || corrupt > 0 || delay_ns != 0 ||
           down_period_ns != 0 || police_pps > 0;
  }
};

/// A wire that adds faults to an inner wire. While the carrier is lost, the source pauses and
/// frames from the device are dropped and counted.
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
  using enum FaultCounters::Kind;
  static constexpr uint32_t kFrames = 65536;
  static constexpr size_t kBytes = size_t{64} << 20;
  /// Maximum number of frames that are injected for each frame of the inner wire: the frame itself,
  /// a duplicate, and a held frame.
  static constexpr uint32_t kMostForOne = 3;
  /// Maximum number of frames that are sent while a held frame is waiting for the next frame of its
  /// flow.
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
  std::vector<uint8_t> held_;  ///< The held frame; empty if no frame is held.
  uint32_t held_for_ = 0;      ///< Number of frames that have passed the held frame.
  uint64_t start_ns_ = 0;
  double policed_until_ns_ = 0;  ///< Virtual time at which the next frame conforms to the rate
                                 ///< limit.
  bool started_ = false;
  std::array<uint64_t, kKinds> counts_ = {};
  std::vector<device::Counter> counters_;
};

}  // namespace sluice::emulator
