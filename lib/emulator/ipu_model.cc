// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/ipu_model.h"

#include "device/ipu/ipu_nic.h"
#include "device/transport/unit.h"
#include "emulator/grid/ipu_program.h"
#include "emulator/model.h"
#include "regs/ipu.h"

namespace sluice::emulator {
namespace {

std::unique_ptr<device::Device> MakeIpu(const SettingValues&, const bar::DmaSpace& memory,
                                        std::string*) {
  return device::transport::WithUnit(
      std::make_unique<device::ipu::IpuNic>(memory, device::ipu::IpuConfig{}), memory,
      {.unit = regs::ipu::kTransport,
       .reset_offset = regs::ipu::kReset,
       .reset_value = regs::ipu::kResetMagic});
}

}  // namespace

const ModelInfo kIpuModel = {.name = "ipu",
                             .title = "an IPU-style NIC",
                             .driver = "net_ipu",
                             .bar_bytes = regs::ipu::kBarBytes,
                             .settings = {},
                             .make = MakeIpu,
                             .grid = &kIpuProgram};

}  // namespace sluice::emulator
