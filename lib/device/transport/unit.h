// SPDX-License-Identifier: BSD-3-Clause
//
// The transport unit of a NIC model (regs/transport.h): it ends TCP connections between the wire
// and the NIC, and passes their bytes to the host through rings in host memory. Frames that are not
// TCP segments to a port of the unit pass through unchanged. The unit surrounds the model of a NIC,
// so the NIC steers its records like other frames, to any queue, pipe, link or endpoint.
#pragma once

#include <memory>

#include "bar/dma.h"
#include "device/device.h"

namespace sluice::device::transport {

/// Position of the unit's register in a device's BAR, and the store that resets the device.
struct Placement {
  uint32_t unit;              ///< Offset of the unit's register.
  uint32_t reset_offset = 0;  ///< A 4-byte store of `reset_value` here ends the unit's work too.
  uint32_t reset_value = 0;   ///< 0: the device has no such register.
};

/// Returns `nic` with a transport unit, or `nic` itself if this build contains no TCP. `memory` is
/// the host memory that `nic` accesses, and must outlive the result.
std::unique_ptr<Device> WithUnit(std::unique_ptr<Device> nic, const bar::DmaSpace& memory,
                                 Placement placement);

}  // namespace sluice::device::transport
