// SPDX-License-Identifier: BSD-3-Clause
//
// The configuration space of a PCI Express endpoint (PCI Express Base Specification, chapter 7):
// type 0 header, PCI Express and MSI-X capabilities, no extended capabilities. This class does not
// access any other state.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "emulator/vfio_user/pci_function.h"

namespace sluice::emulator::vfio_user {

class ConfigSpace {
 public:
  static constexpr uint32_t kBytes = 4096;
  /// Offsets of the capabilities.
  static constexpr uint32_t kExpress = 0x40;
  static constexpr uint32_t kMsix = 0x80;

  /// Constructs the power-on state.
  explicit ConfigSpace(const PciFunction& function);

  /// Copies bytes of the configuration space to `data`. The range must be within kBytes.
  void Read(uint32_t offset, std::span<uint8_t> data) const;
  /// Writes the bits that software may change. Returns true if software requests a function reset,
  /// which the caller must perform; this includes calling Reset.
  [[nodiscard]] bool Write(uint32_t offset, std::span<const uint8_t> data);
  void Reset();

  /// State of the command register: whether BARs are decoded, and whether bus mastering is enabled.
  bool memory_enabled() const;
  bool bus_master() const;
  /// Returns the address that software has assigned to an existing BAR.
  uint64_t BarAddress(uint32_t bar) const;

 private:
  void Put(uint32_t offset, uint32_t bytes, uint32_t value, uint32_t writable = 0);
  uint16_t Word(uint32_t offset) const;

  const PciFunction& function_;
  std::array<uint8_t, kBytes> bytes_{};
  std::array<uint8_t, kBytes> writable_{};  ///< Bits that software may change.
};

}  // namespace sluice::emulator::vfio_user
