// SPDX-License-Identifier: BSD-3-Clause
#include "host.h"

namespace sluice::device::ipu::test {

std::unique_ptr<Device> MakeNic(const bar::DmaSpace& dma) {
  return std::make_unique<IpuNic>(dma, IpuConfig{});
}

}  // namespace sluice::device::ipu::test
