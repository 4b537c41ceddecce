// SPDX-License-Identifier: BSD-3-Clause
//
// The port in a secondary process. It requests state from the primary process and uses rings
// that no other process uses. Its doorbells use the primary's register queue: the secondary
// maps the queue at the same address and posts to lanes that the primary assigns.
#pragma once

#include <bus_pci_driver.h>
#include <bus_vdev_driver.h>
#include <ethdev_driver.h>

namespace sluice::net_ipu {

inline constexpr const char* kSecondaryChannel = "net_ipu_ports";

/// Primary process: answers requests from secondary processes and gives them access to registers.
/// Needs to be called only once.
void ServeSecondaries();

/// Secondary process: attaches to the primary's port. A port without registers, such as a wrapping
/// port, cannot transfer packets in this process. Returns 0 or a negative errno.
int ProbeSecondary(rte_vdev_device* vdev);
/// Overload for a PCI function. EAL must have mapped the function's registers at the primary's
/// address.
int ProbeSecondary(rte_pci_device* device);

}  // namespace sluice::net_ipu
