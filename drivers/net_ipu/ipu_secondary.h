// SPDX-License-Identifier: BSD-3-Clause
//
// The port in a secondary process: it tells what the primary process knows, and bursts on rings
// that no other process serves. Doorbells go where the primary's go: the secondary maps the
// register queue at the same address, and posts to lanes that the primary gives it.
#pragma once

#include <bus_pci_driver.h>
#include <bus_vdev_driver.h>
#include <ethdev_driver.h>

namespace sluice::net_ipu {

inline constexpr const char* kSecondaryChannel = "net_ipu_ports";

/// Primary process: answers secondary ones, and lets them have registers. Once is enough.
void ServeSecondaries();

/// Secondary process: attaches to the primary's port. Without registers, as around another port, it
/// does not burst. 0, or a negative errno.
int ProbeSecondary(rte_vdev_device* vdev);
/// The same of a function whose registers EAL has mapped where the primary process has them.
int ProbeSecondary(rte_pci_device* device);

}  // namespace sluice::net_ipu
