// SPDX-License-Identifier: BSD-3-Clause
//
// Detects whether a PCI function still responds. Reads from a removed function and reads that time
// out return all ones (PCI Express Base Specification, "Completion Timeout Mechanism"). A register
// may also contain all ones. A read of all ones is therefore verified by reading another register
// that never contains all ones.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::bar {

/// Link state of one function. May be used by any thread, and by any process that shares it. Once
/// down, the link stays down, because a function that responds later at this address is not
/// initialized.
class FunctionLink {
 public:
  /// `witness` is the offset of a 4-byte register that never reads as all ones.
  explicit FunctionLink(uint32_t witness) : witness_(witness) {}

  bool up() const { return up_.load(std::memory_order_relaxed); }
  /// Verifies the link after a read of all ones from the BAR at `mmio`.
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
