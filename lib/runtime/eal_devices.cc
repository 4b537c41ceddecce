// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/eal_devices.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

namespace sluice::runtime {

namespace {

// The name under which Linux lists the address of PCI that `value` begins with, if it does: EAL
// takes it with and without the name of the bus and the domain.
std::optional<std::string> PciName(std::string value) {
  value.resize(std::min(value.find(','), value.size()));
  if (value.starts_with("pci:")) value.erase(0, 4);
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  int end = 0;
  const auto whole = [&] { return static_cast<size_t>(end) == value.size() && end > 0; };
  std::sscanf(value.c_str(), "%x:%x:%x.%o%n", &domain, &bus, &device, &function, &end);
  if (!whole()) {
    domain = 0;
    std::sscanf(value.c_str(), "%x:%x.%o%n", &bus, &device, &function, &end);
  }
  if (!whole()) return std::nullopt;
  std::array<char, 32> name;
  std::snprintf(name.data(), name.size(), "%04x:%02x:%02x.%o", domain, bus, device, function);
  return name.data();
}

}  // namespace

std::vector<EalDevice> EalDevices(std::span<const std::string> eal) {
  std::vector<EalDevice> devices;
  for (size_t i = 0; i < eal.size(); ++i) {
    const std::string_view argument = eal[i];
    for (const std::string_view option : {"-a", "--allow", "--vdev"}) {
      if (!argument.starts_with(option)) continue;
      std::string_view rest = argument.substr(option.size());
      const bool alone = rest.empty();
      if (option != "-a" && !alone) {
        if (rest[0] != '=') continue;
        rest.remove_prefix(1);
      }
      EalDevice device{eal[i], std::string(rest)};
      if (alone && i + 1 < eal.size()) {
        device.value = eal[++i];
        device.argument += " " + device.value;
      }
      device.pci = PciName(device.value).has_value();
      devices.push_back(std::move(device));
      break;
    }
  }
  return devices;
}

std::string MissingDevice(std::span<const EalDevice> devices, const std::string& bus) {
  for (const EalDevice& device : devices) {
    if (!device.pci) continue;
    std::error_code ignored;
    if (std::filesystem::exists(bus + "/" + *PciName(device.value), ignored)) continue;
    return device.argument + ": there is no such PCI device: dpdk-devbind.py --status lists yours";
  }
  return "";
}

std::string NoPort(std::span<const EalDevice> devices, const std::string& why) {
  if (devices.empty()) return "EAL has no port: name a device with -a or --vdev";
  std::string line;
  for (const EalDevice& device : devices) line += (line.empty() ? "" : ", ") + device.argument;
  line += ": EAL made no port of it: ";
  if (!why.empty()) return line + why;
  const bool hardware = std::ranges::any_of(devices, &EalDevice::pci);
  return line + (hardware ? "bind it to a driver of DPDK, such as vfio-pci (dpdk-devbind.py)"
                          : "name a driver that this DPDK has");
}

}  // namespace sluice::runtime
