// SPDX-License-Identifier: BSD-3-Clause
//
// The Ensō NIC with a receive and a transmit path that are written for reading: one frame and one
// flit at a time, every condition looked up for each (docs/enso-hardware.md, "Receiving",
// "Transmitting"). What the model's fast paths must equal, observable by observable. All else is
// the model's own.
#pragma once

#include <memory>

#include "bar/dma.h"
#include "device/device.h"
#include "device/enso/enso_nic.h"

namespace sluice::device::enso {

std::unique_ptr<Device> MakePlainNic(const bar::DmaSpace& dma, const EnsoConfig& config);

}  // namespace sluice::device::enso
