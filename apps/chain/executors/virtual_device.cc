// SPDX-License-Identifier: BSD-3-Clause
#include "virtual_device.h"

#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <sched.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sluice::chain_app {
namespace {

/// Starts a small EAL. EAL pins the thread that starts it, so the affinity of the stage's thread is
/// saved and restored.
bool StartSmallEal(std::string* error) {
  cpu_set_t allowed;
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  std::array<std::string, 7> words = {"sluice-stage",     "--no-huge",      "-m64",
                                      "--no-pci",         "--no-telemetry", "--no-shconf",
                                      "--log-level=error"};
  std::array<char*, words.size()> pointers{};
  for (size_t i = 0; i < words.size(); ++i) pointers[i] = words[i].data();
  const int started = rte_eal_init(static_cast<int>(pointers.size()), pointers.data());
  if (known) sched_setaffinity(0, sizeof allowed, &allowed);
  errno = started < 0 ? rte_errno : 0;
  if (started < 0) *error = std::string("EAL failed to start: ") + rte_strerror(rte_errno);
  return started >= 0;
}

}  // namespace

std::unique_ptr<VirtualDevice> VirtualDevice::Make(const std::string& driver, std::string* error) {
  static uint32_t made = 0;
  // Suppresses log lines about the creation and removal of devices, at any EAL log level.
  rte_log_set_level(RTE_LOGTYPE_CRYPTODEV, RTE_LOG_ERR);
  for (const char* const library : {"lib.compressdev", "lib.net"})
    rte_log_set_level_pattern(library, RTE_LOG_ERR);
  // EAL has lcores once it has started.
  if (rte_lcore_count() == 0 && !StartSmallEal(error)) return nullptr;
  // Another library in this process may have created devices with these names.
  std::string name;
  int fault = -EEXIST;
  while (fault == -EEXIST) {
    name = driver + "_stage" + std::to_string(made++);
    fault = rte_vdev_init(name.c_str(), "");
  }
  if (fault != 0) {
    *error = "DPDK has no driver " + driver + " here (" + std::strerror(-fault) +
             "): install its package, librte-meta-crypto or librte-meta-compress";
    return nullptr;
  }
  return std::unique_ptr<VirtualDevice>(new VirtualDevice(std::move(name)));
}

VirtualDevice::~VirtualDevice() { rte_vdev_uninit(name_.c_str()); }

}  // namespace sluice::chain_app
