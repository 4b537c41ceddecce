// SPDX-License-Identifier: BSD-3-Clause
#include "host.h"

namespace sluice::device::enso {

std::unique_ptr<Device> MakeNic(const bar::DmaSpace& dma, const EnsoConfig& config) {
  return std::make_unique<EnsoNic>(dma, config);
}

}  // namespace sluice::device::enso
