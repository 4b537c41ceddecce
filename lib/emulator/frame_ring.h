// SPDX-License-Identifier: BSD-3-Clause
//
// The generator's ring of prebuilt frames, which are valid IPv4/UDP or IPv4/TCP frames of all flows
// and sizes, in the order in which they are sent. Only the sequence number in the tag changes per
// frame (tag.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "emulator/aligned_bytes.h"
#include "emulator/gen_options.h"
#include "emulator/tag.h"

namespace sluice::emulator {

/// A ring of prebuilt frames. Owned by the generator; the verifier reads it.
class FrameRing {
 public:
  /// The properties of a ring frame that the verifier checks.
  struct Expected {
    uint32_t flow;
    uint32_t length;
  };

  /// Builds a ring of at least `entries` frames. Returns null and sets `error` if the ring would be
  /// too large or there is not enough memory.
  static std::unique_ptr<FrameRing> Build(const GeneratorOptions& options, std::string* error,
                                          uint32_t entries = 0);

  /// Returns the ring. It contains every flow `per_lap()` times.
  std::span<const device::WireFrame> frames() const { return frames_; }
  std::span<const Expected> expected() const { return expected_; }
  uint32_t flows() const { return flows_; }
  uint32_t per_lap() const { return per_lap_; }
  /// Returns the nonce that the tags contain.
  uint32_t nonce() const { return nonce_; }
  /// Returns the offset of the first byte that applications do not change: after the L4 header and
  /// the first payload byte, which echo applications increment.
  uint32_t invariant_offset() const { return invariant_offset_; }

  /// Writes the next sequence number of their flow to each of the frames [first, last). Each frame
  /// must be stamped once per lap, in ring order.
  void Stamp(uint32_t first, uint32_t last) {
    for (uint32_t i = first; i < last; ++i) {
      uint8_t* tag = tags_[i];
      uint32_t sequence;
      std::memcpy(&sequence, tag, sizeof(sequence));
      StampTag(tag, sequence + per_lap_);
    }
  }

 private:
  FrameRing() = default;
  void Lay(const GeneratorOptions& options, std::span<const uint32_t> sizes);

  AlignedBytes memory_;
  std::vector<device::WireFrame> frames_;
  std::vector<uint8_t*> tags_;
  std::vector<Expected> expected_;
  uint32_t flows_ = 0;
  uint32_t per_lap_ = 0;
  uint32_t nonce_ = 0;
  uint32_t invariant_offset_ = 0;
};

}  // namespace sluice::emulator
