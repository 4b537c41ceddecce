// SPDX-License-Identifier: BSD-3-Clause
#include "host.h"
#include "ipu_card_nic.h"

namespace sluice::device::ipu::test {

std::unique_ptr<Device> MakeNic(const bar::DmaSpace& dma) {
  return std::make_unique<grid::IpuCardNic>(dma);
}

}  // namespace sluice::device::ipu::test
