// SPDX-License-Identifier: BSD-3-Clause
//
// Checks the devices that a user passes to EAL (`-a`, `--allow`, `--vdev`), before and after EAL
// probes them. EAL itself reports no error if a device is absent.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace sluice::runtime {

struct EalDevice {
  std::string argument;  ///< The argument as given: "-a 0000:81:00.0", "--vdev=net_tap0,iface=t0".
  std::string value;     ///< The argument without its option, for example "0000:81:00.0".
  bool pci = false;      ///< Whether `value` begins with a PCI address.
};

/// Returns the devices in EAL's half of a command line, in the same order.
std::vector<EalDevice> EalDevices(std::span<const std::string> eal);

/// Returns an error line, with the fix, for the first missing device: a PCI address at which this
/// machine has no device, or a device whose kernel network interface is absent. Returns an empty
/// string if none is missing. `bus` and `interfaces` are the folders that list the machine's
/// devices and interfaces.
std::string MissingDevice(std::span<const EalDevice> devices,
                          const std::string& bus = "/sys/bus/pci/devices",
                          const std::string& interfaces = "/sys/class/net");

/// Returns whether one of the devices names a sluice-device socket on which no process listens.
/// Call it only if EAL made no port, because a listener would see a connection that ends at once.
bool AwaitsDevice(std::span<const EalDevice> devices);

/// Returns an error line, with the fix, for a run in which EAL made no port. `why` is the first
/// error line from EAL or a driver, or empty.
std::string NoPort(std::span<const EalDevice> devices, const std::string& why);

}  // namespace sluice::runtime
