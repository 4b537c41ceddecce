// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/eal_devices.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/owned_fd.h"

namespace sluice::runtime {

namespace {

// Returns the PCI address at the start of `value` in the form that Linux uses, or nullopt if there
// is none. EAL accepts the address with or without the bus name and the domain.
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

struct InterfaceKey {
  std::string_view driver, key;
};

// Device arguments that name a kernel network interface, which must exist (DPDK's "Network
// Interface Controller Drivers"). net_tap's iface= is not in the list, because the driver creates
// that interface.
constexpr std::array kInterfaceKeys{
    InterfaceKey{"net_af_packet", "iface"},  InterfaceKey{"net_af_xdp", "iface"},
    InterfaceKey{"net_pcap", "iface"},       InterfaceKey{"net_pcap", "rx_iface"},
    InterfaceKey{"net_pcap", "rx_iface_in"}, InterfaceKey{"net_pcap", "tx_iface"},
    InterfaceKey{"net_tap", "remote"}};

// Returns the value of the argument `key` after the driver's name, or nullopt if it is absent.
std::optional<std::string> Argument(std::string_view value, std::string_view key) {
  for (size_t at = value.find(','); at < value.size();) {
    const size_t end = std::min(value.find(',', at + 1), value.size());
    const std::string_view part = value.substr(at + 1, end - at - 1);
    if (part.starts_with(key) && part.substr(key.size()).starts_with('='))
      return std::string(part.substr(key.size() + 1));
    at = end;
  }
  return std::nullopt;
}

// Returns the first network interface that a device needs and that `interfaces` does not list, or
// nullopt.
std::optional<std::string> MissingInterface(const EalDevice& device,
                                            const std::string& interfaces) {
  for (const InterfaceKey& one : kInterfaceKeys) {
    if (!device.value.starts_with(one.driver)) continue;
    const std::optional<std::string> name = Argument(device.value, one.key);
    std::error_code ignored;
    if (name && !std::filesystem::exists(interfaces + "/" + *name, ignored)) return name;
  }
  return std::nullopt;
}

bool NobodyListens(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) return false;
  path.copy(address.sun_path, path.size());
  const base::OwnedFd made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return made &&
         connect(made.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
         (errno == ENOENT || errno == ECONNREFUSED);
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

std::string MissingDevice(std::span<const EalDevice> devices, const std::string& bus,
                          const std::string& interfaces) {
  for (const EalDevice& device : devices) {
    if (const auto missing = MissingInterface(device, interfaces)) {
      return device.argument + ": no such network interface: " + *missing +
             ": list interfaces with ip link";
    }
    if (!device.pci) continue;
    std::error_code ignored;
    if (std::filesystem::exists(bus + "/" + *PciName(device.value), ignored)) continue;
    return device.argument + ": no such PCI device: list devices with dpdk-devbind.py --status";
  }
  return "";
}

bool AwaitsDevice(std::span<const EalDevice> devices) {
  return std::ranges::any_of(devices, [](const EalDevice& device) {
    const std::optional<std::string> path = Argument(device.value, "device");
    return path && NobodyListens(*path);
  });
}

std::string NoPort(std::span<const EalDevice> devices, const std::string& why) {
  if (devices.empty()) return "EAL has no port: give a device with -a or --vdev";
  std::string line;
  for (const EalDevice& device : devices) line += (line.empty() ? "" : ", ") + device.argument;
  line += ": EAL created no port for this device: ";
  if (!why.empty()) return line + why;
  const bool hardware = std::ranges::any_of(devices, &EalDevice::pci);
  return line + (hardware ? "bind it to a driver of DPDK, such as vfio-pci (dpdk-devbind.py)"
                          : "give a driver that this DPDK contains");
}

}  // namespace sluice::runtime
