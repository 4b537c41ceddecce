// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a PCI function still answers. Reads of one that was removed, or that does not complete
// them in time, are all ones (PCI Express Base Specification, "Completion Timeout Mechanism"). So
// may a register be: a suspicious read is checked against one that never is.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::bar {

/// Any thread, and any process that shares it. Once down it stays down: whatever answers at this
/// place later is a function that nobody has set up.
class FunctionLink {
 public:
  /// `witness`: offset of a 4-byte register that never reads as all ones.
  explicit FunctionLink(uint32_t witness) : witness_(witness) {}

  bool up() const { return up_.load(std::memory_order_relaxed); }
  /// A read of the BAR at `mmio` was all ones.
  void Suspect(volatile uint8_t* mmio) {
    if (*reinterpret_cast<volatile uint32_t*>(mmio + witness_) == ~uint32_t{0}) {
      up_.store(false, std::memory_order_relaxed);
    }
  }
  uint32_t witness() const { return witness_; }

 private:
  uint32_t witness_;
  std::atomic<bool> up_{true};
};

}  // namespace sluice::bar
