// SPDX-License-Identifier: BSD-3-Clause
//
// The models as PCI functions: regs/pci_function.h as a table. A model that has no row is none.
#pragma once

#include <array>
#include <cstdint>

#include "emulator/model.h"
#include "emulator/vfio_user/protocol.h"

namespace sluice::emulator::vfio_user {

/// What an access to a BAR reaches.
enum class BarKind : uint8_t {
  kNone,
  kRegisters,  ///< The model's; what is beyond ModelInfo::bar_bytes reads as all ones.
  kLines,      ///< Memory that client and device share.
  kMsix,       ///< The MSI-X table and its pending bits.
};

struct BarLayout {
  BarKind kind = BarKind::kNone;
  uint32_t bytes = 0;  ///< A power of two, 16 or more.
  bool wide = false;   ///< 64-bit, prefetchable: the next BAR is its upper half.
};

struct MsixLayout {
  uint32_t vectors = 0;  ///< 0: the function has no interrupts.
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
  uint64_t lines_bus;  ///< Where the device finds its lines: a bus address that no host has.
};

/// Null: the model is not to be had on a bus. Without `interrupts` it has none, whatever it can.
const PciFunction* FunctionOf(const ModelInfo& model, bool interrupts = true);

}  // namespace sluice::emulator::vfio_user
