// SPDX-License-Identifier: BSD-3-Clause
//
// The Ensō NIC with simple receive and transmit paths, which process one frame or one flit at a
// time and check every condition each time (docs/enso-hardware.md, "Receiving", "Transmitting").
// The model's fast paths must produce the same observable state. All other code is shared with the
// model.
#pragma once

#include <memory>

#include "bar/dma.h"
#include "device/device.h"
#include "device/enso/enso_nic.h"

namespace sluice::device::enso {

std::unique_ptr<Device> MakePlainNic(const bar::DmaSpace& dma, const EnsoConfig& config);

}  // namespace sluice::device::enso
