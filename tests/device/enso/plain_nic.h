// SPDX-License-Identifier: BSD-3-Clause
//
// The Ensō NIC with a receive path that is written for reading: one frame and one flit at a time,
// every condition looked up for every frame (docs/enso-hardware.md, "Receiving"). What the model's
// fast path must equal, observable by observable. All else is the model's own.
#pragma once

#include <memory>

#include "bar/dma.h"
#include "device/device.h"
#include "device/enso/enso_nic.h"

namespace sluice::device::enso {

std::unique_ptr<Device> MakePlainNic(const bar::DmaSpace& dma, const EnsoConfig& config);

}  // namespace sluice::device::enso
