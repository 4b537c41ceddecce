// SPDX-License-Identifier: BSD-3-Clause
//
// The port through which notifications and completions are written to host memory. A multi-flit
// frame for a disabled pipe, or for a pipe whose notification buffer is disabled, wedges the port
// permanently (docs/enso-hardware.md, "Traps"): after that, no notification or completion leaves
// the NIC. Tails and status bits, which are updated upstream of the port, still advance until all
// packet buffers contain frames that cannot leave.
#pragma once

#include <atomic>
#include <cstdint>

#include "bar/dma.h"
#include "device/enso/counters.h"
#include "regs/enso.h"

namespace sluice::device::enso {

class WritePort {
 public:
  WritePort(const bar::DmaSpace& dma, Tally& tally) : dma_(dma), tally_(tally) {}

  bool wedged() const { return wedged_; }
  void Wedge() {
    wedged_ = silent_ = true;
    tally_[Event::kWedged] = 1;
  }
  /// Sets whether the NIC may write to host memory (bus mastering).
  void SetMastering(bool on) { silent_ = wedged_ || !on; }
  /// Returns whether writes are discarded.
  bool silent() const { return silent_; }

  /// Holds one more frame while the port is wedged. Returns false if no packet buffer is free.
  bool Hold() {
    if (stalled()) return false;
    ++held_;
    ++tally_[Event::kRxStuck];
    return true;
  }
  /// Returns whether all packet buffers are held; in this state, the tails stop as well.
  bool stalled() const { return held_ == regs::enso::kPacketBuffers; }

  /// Writes all 64 bytes of slot `index` of a ring, unless writes are discarded (silent()). `bus`
  /// is the ring's bus address, and `ring` is its address in this process, or null if the whole
  /// ring is not in one mapped range. The signal word is stored last with release order, after all
  /// earlier writes. An unreachable or unaligned slot is counted as a fault.
  void WriteSlot(uint8_t* ring, uint64_t bus, uint32_t index, uint64_t signal, uint64_t word1,
                 uint64_t word2) {
    if (silent_) return;
    const uint64_t offset = uint64_t{index} * regs::enso::kFlitBytes;
    uint8_t* slot =
        ring != nullptr ? ring + offset : dma_.Translate(bus + offset, regs::enso::kFlitBytes);
    // Rings must be 64-byte aligned. A slot that is not 8-byte aligned is a fault.
    const bool aligned = reinterpret_cast<uintptr_t>(slot) % alignof(uint64_t) == 0;
    if (slot == nullptr || !aligned) [[unlikely]] {
      ++tally_[Event::kDmaFaults];
      return;
    }
    auto* words = reinterpret_cast<uint64_t*>(slot);
    words[1] = word1;
    words[2] = word2;
    for (uint32_t i = 3; i < regs::enso::kFlitBytes / sizeof(uint64_t); ++i) words[i] = 0;
    std::atomic_ref(words[0]).store(signal, std::memory_order_release);
    dma_.Stored(slot, regs::enso::kFlitBytes);
  }

 private:
  const bar::DmaSpace& dma_;
  Tally& tally_;
  bool wedged_ = false;
  bool silent_ = false;  ///< Always true if wedged_ is.
  uint32_t held_ = 0;    ///< Packet buffers that are held forever.
};

}  // namespace sluice::device::enso
