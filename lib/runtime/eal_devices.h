// SPDX-License-Identifier: BSD-3-Clause
//
// The devices that a user names to EAL (`-a`, `--allow`, `--vdev`), and what can be said of
// them before and after EAL looks for them. EAL itself starts without a device that is not there.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace sluice::runtime {

struct EalDevice {
  std::string argument;  ///< As it was given: "-a 0000:81:00.0", "--vdev=net_tap0,iface=t0".
  std::string value;     ///< "0000:81:00.0".
  bool pci = false;      ///< `value` begins with an address of PCI: it names hardware.
};

/// Those in EAL's half of a command line, in its order.
std::vector<EalDevice> EalDevices(std::span<const std::string> eal);

/// One line, with the fix, about the first that is an address of PCI at which this machine has
/// nothing, or that needs a network interface of the kernel which is not there; empty if there is
/// none such. `bus` and `interfaces` list the devices and the interfaces of the machine.
std::string MissingDevice(std::span<const EalDevice> devices,
                          const std::string& bus = "/sys/bus/pci/devices",
                          const std::string& interfaces = "/sys/class/net");

/// Returns true if nothing listens at the socket of a sluice-device that one of them names. For a
/// run in which EAL made no port: a listener would see a connection that ends at once.
bool AwaitsDevice(std::span<const EalDevice> devices);

/// One line, with the fix, for a run in which EAL made no port of any of them. `why`: what EAL or
/// a driver said first, or empty.
std::string NoPort(std::span<const EalDevice> devices, const std::string& why);

}  // namespace sluice::runtime
