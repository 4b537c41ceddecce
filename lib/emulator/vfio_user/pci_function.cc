// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/vfio_user/pci_function.h"

#include <string_view>

#include "regs/enso.h"
#include "regs/pci_function.h"
#include "regs/vectors.h"

namespace sluice::emulator::vfio_user {
namespace {

using namespace regs::pci;

constexpr PciFunction MakeEnso() {
  PciFunction function{};
  function.vendor = regs::enso::kPciVendor;
  function.device = regs::enso::kPciDevice;
  function.bars[regs::enso::kPciBar] = {BarKind::kRegisters, kEnsoBarBytes, true};
  return function;
}

constexpr PciFunction MakeIpu(bool interrupts) {
  PciFunction function{};
  function.vendor = kIpuVendor;
  function.device = kIpuDevice;
  function.revision = kIpuRevision;
  function.bars[kIpuRegisterBar] = {BarKind::kRegisters, kIpuRegisterBarBytes, false};
  function.bars[kIpuLinesBar] = {BarKind::kLines, kIpuLinesBarBytes, true};
  function.lines_bus = kIpuLinesBus;
  if (!interrupts) return function;
  function.bars[kIpuMsixBar] = {BarKind::kMsix, kIpuMsixBarBytes, false};
  function.msix = {regs::kVectors, kIpuMsixBar, kIpuMsixTable, kIpuMsixPending};
  return function;
}

constexpr struct {
  std::string_view model;
  PciFunction function;
  PciFunction without_interrupts;
} kFunctions[] = {{"enso", MakeEnso(), MakeEnso()}, {"ipu", MakeIpu(true), MakeIpu(false)}};

}  // namespace

const PciFunction* FunctionOf(const ModelInfo& model, bool interrupts) {
  for (const auto& [name, function, without_interrupts] : kFunctions) {
    if (name == model.name) return interrupts ? &function : &without_interrupts;
  }
  return nullptr;
}

}  // namespace sluice::emulator::vfio_user
