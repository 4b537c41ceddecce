// SPDX-License-Identifier: BSD-3-Clause
//
// The one port through which notifications and completions reach host memory. A
// frame of several flits that hits a disabled pipe wedges it (docs/enso-hardware.md, "Traps"):
// then neither leaves the NIC again. What stands before the port, the managers of tails and
// status bits, goes on until all packet buffers hold frames that cannot leave.
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
  /// A NIC that is not its bus's master emits no writes.
  void SetMastering(bool on) { silent_ = wedged_ || !on; }
  /// What is written reaches nobody.
  bool silent() const { return silent_; }

  /// One more frame waits behind the wedge; false if no packet buffer is free.
  bool Hold() {
    if (stalled()) return false;
    ++held_;
    ++tally_[Event::kRxStuck];
    return true;
  }
  /// Not even tails advance any more.
  bool stalled() const { return held_ == regs::enso::kPacketBuffers; }

  /// Writes all 64 bytes of slot `index` of a ring at bus address `bus`, `ring` in
  /// this process (null if the ring as a whole is not reachable). The signal word
  /// comes last with release order: who sees it sees all that was written before.
  void WriteSlot(uint8_t* ring, uint64_t bus, uint32_t index, uint64_t signal, uint64_t word1,
                 uint64_t word2) {
    if (silent_) return;
    const uint64_t offset = uint64_t{index} * regs::enso::kFlitBytes;
    uint8_t* slot =
        ring != nullptr ? ring + offset : dma_.Translate(bus + offset, regs::enso::kFlitBytes);
    // A ring must be 64-byte aligned; what can not hold a word is not a slot.
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
    if (dma_.remote() != nullptr) [[unlikely]]
      dma_.remote()->Stored(slot, regs::enso::kFlitBytes);
  }

 private:
  const bar::DmaSpace& dma_;
  Tally& tally_;
  bool wedged_ = false;
  bool silent_ = false;  ///< Whenever wedged_ is.
  uint32_t held_ = 0;    ///< Packet buffers taken for ever.
};

}  // namespace sluice::device::enso
