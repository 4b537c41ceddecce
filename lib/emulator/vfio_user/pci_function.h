// SPDX-License-Identifier: BSD-3-Clause
//
// The PCI properties of the models: a table of the values in regs/pci_function.h. A model without a
// row is not a PCI function.
#pragma once

#include <array>
#include <cstdint>

#include "emulator/model.h"
#include "emulator/vfio_user/protocol.h"

namespace sluice::emulator::vfio_user {

/// Target of accesses to a BAR.
enum class BarKind : uint8_t {
  kNone,
  kRegisters,  ///< The model's registers; offsets beyond ModelInfo::bar_bytes read as all ones.
  kLines,      ///< Memory shared by the client and the device.
  kMsix,       ///< The MSI-X table and its pending bits.
};

struct BarLayout {
  BarKind kind = BarKind::kNone;
  uint32_t bytes = 0;  ///< A power of two, 16 or more.
  bool wide = false;   ///< 64-bit, prefetchable; the next BAR is its upper half.
};

struct MsixLayout {
  uint32_t vectors = 0;  ///< 0 if the function has no interrupts.
  uint8_t bar = 0;
  uint32_t table = 0;  ///< Offsets in the BAR.
  uint32_t pending = 0;
};

struct PciFunction {
  uint16_t vendor;
  uint16_t device;
  uint8_t revision;
  std::array<BarLayout, kBars> bars;
  MsixLayout msix;
  uint64_t lines_bus;  ///< Address of the lines for the device's DMA. Not used by any host.
};

/// Returns null if the model is not a PCI function. If `interrupts` is false, the function has no
/// interrupts, even if the model supports them.
const PciFunction* FunctionOf(const ModelInfo& model, bool interrupts = true);

}  // namespace sluice::emulator::vfio_user
