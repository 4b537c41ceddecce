// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers that hold the TLPs of messages until they have been sent to all targets.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <vector>

#include "device/switch/spec.h"

namespace sluice::device::pcie_switch {

struct Held {
  uint32_t message = 0;
  uint32_t message_length = 0;
  std::array<uint32_t, 2> key{};
  uint64_t sequence = 0;  ///< Number of the message in its lane.
  uint16_t lane = 0;
  NodeMask targets = 0;  ///< Targets that the element has not been sent to. The element is freed
                         ///< when `targets` becomes 0.
  uint16_t length = 0;   ///< Bytes in `data`, which excludes the message's header.
  uint8_t granules = 0;
  bool first = false;
  bool last = false;
  std::array<uint8_t, kMaxPayload> data;
};

/// FIFO with bounded memory, which is allocated in the constructor.
class Ring {
 public:
  explicit Ring(uint32_t granules = 0) : slots_(granules), free_(granules) {}

  bool Fits(uint32_t granules) const { return granules <= free_; }
  /// Appends an element, which the caller must fill in. There must be room for `granules`.
  Held& Push(uint32_t granules) {
    assert(Fits(granules) && granules != 0 && size_ < slots_.size());
    free_ -= granules;
    Held& held = (*this)[size_++];
    held.granules = static_cast<uint8_t>(granules);
    return held;
  }
  void PopFront() {
    free_ += (*this)[0].granules;
    first_ = first_ + 1 == slots_.size() ? 0 : first_ + 1;
    --size_;
  }
  Held& operator[](uint32_t i) { return slots_[(first_ + i) % slots_.size()]; }
  const Held& operator[](uint32_t i) const { return slots_[(first_ + i) % slots_.size()]; }
  uint32_t size() const { return size_; }
  uint32_t free_granules() const { return free_; }

 private:
  std::vector<Held> slots_;  ///< One per granule, the minimum size of a TLP.
  uint32_t free_;
  uint32_t first_ = 0;
  uint32_t size_ = 0;
};

}  // namespace sluice::device::pcie_switch
