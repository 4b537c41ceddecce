// SPDX-License-Identifier: BSD-3-Clause
//
// Probes net_ipu as a vdev: parses the device arguments, and creates a port on a model or a port
// that wraps another port.
#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_errno.h>
#include <rte_log.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

#include "emulator/ipu_model.h"
#include "emulator/options.h"
#include "net_ipu/ipu_adapter.h"
#include "net_ipu/ipu_secondary.h"
#include "net_ipu/ipu_wrap.h"
#include "pmd_info.h"
#include "register_once.h"
#include "split_arguments.h"

namespace sluice::net_ipu {
namespace {

constexpr const char* kQueuesKey = "queues";
constexpr const char* kRingKey = "ring";
constexpr const char* kPortKey = "port";

int log_type;

struct Arguments {
  uint32_t queues = regs::ipu::kMaxQueues;
  uint32_t ring = 0;  ///< 0: not given.
  std::string port;   ///< Port to wrap; if empty, a model is created.
  std::vector<emulator::Argument> model;
};

std::string KnownKeys() {
  std::string keys = std::string(kQueuesKey) + ", " + kRingKey + ", " + kPortKey;
  for (const char* const key : emulator::ArgumentKeys()) keys += std::string(", ") + key;
  return keys;
}

/// Parses one device argument. On failure, returns false and sets `error` to one line that names
/// the key and the fix.
bool ParseArgument(const std::string& key, const std::string& text, Arguments* arguments,
                   std::string* error) {
  if (key == kQueuesKey) {
    if (emulator::ReadNumber(text, 1, regs::ipu::kMaxQueues, &arguments->queues)) return true;
    *error = "queues=" + text + ": give the number of queue pairs, 1 to " +
             std::to_string(regs::ipu::kMaxQueues);
    return false;
  }
  if (key == kRingKey) {
    if (emulator::ReadNumber(text, regs::ipu::kMinRing, regs::ipu::kMaxRing, &arguments->ring) &&
        std::has_single_bit(arguments->ring)) {
      return true;
    }
    *error = "ring=" + text + ": give the number of descriptors, a power of two from " +
             std::to_string(regs::ipu::kMinRing) + " to " + std::to_string(regs::ipu::kMaxRing);
    return false;
  }
  if (key == kPortKey) {
    arguments->port = text;
    if (text.empty()) *error = "port=: give the name of the ethdev to wrap";
    return !text.empty();
  }
  const auto keys = emulator::ArgumentKeys();
  if (std::none_of(keys.begin(), keys.end(), [&](const char* known) { return key == known; })) {
    *error = "unknown argument '" + key + "': use " + KnownKeys();
    return false;
  }
  arguments->model.emplace_back(key, text);
  return true;
}

/// Returns the ring size to recommend. A device on a GPU takes longer per turn than a device on a
/// CPU, so more descriptors are in progress.
uint32_t RingEntries(const Arguments& arguments) {
  if (arguments.ring != 0) return arguments.ring;
  const bool on_gpu = std::ranges::any_of(arguments.model, [](const emulator::Argument& argument) {
    return argument.first == "on" && argument.second.starts_with("gpu");
  });
  return on_gpu ? regs::ipu::kMaxRing : kUsualRing;
}

bool ParseArguments(const char* text, Arguments* arguments, std::string* error) {
  std::vector<emulator::Argument> list;
  if (!drivers::SplitArguments(text, &list, error)) return false;
  for (const auto& [key, value] : list) {
    if (!ParseArgument(key, value, arguments, error)) return false;
  }
  const auto other = std::find_if(list.begin(), list.end(),
                                  [](const auto& argument) { return argument.first != kPortKey; });
  if (arguments->port.empty() || other == list.end()) return true;
  *error = "port=" + arguments->port + " with " + other->first + "=" + other->second +
           ": a wrapped port has no model: omit one of the two arguments";
  return false;
}

/// Logs one line and returns `code`. The program reads rte_errno together with this line
/// (runtime/start_log.h).
int Fail(rte_vdev_device* vdev, const std::string& error, int code) {
  rte_errno = -code;
  Log(RTE_LOG_ERR, "%s: %s", rte_vdev_device_name(vdev), error.c_str());
  return code;
}

int Probe(rte_vdev_device* vdev) {
  std::string error;
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) return ProbeSecondary(vdev);
  ServeSecondaries();
  Arguments arguments;
  if (!ParseArguments(rte_vdev_device_args(vdev), &arguments, &error))
    return Fail(vdev, error, -EINVAL);
  if (!arguments.port.empty()) {
    const int failure = ProbeWrapper(vdev, arguments.port, &error);
    return failure == 0 ? 0 : Fail(vdev, error, failure);
  }
  errno = 0;
  auto attachment = emulator::Attach(rte_vdev_device_name(vdev), emulator::kIpuModel, {},
                                     arguments.model, &error);
  if (attachment == nullptr) {
    return Fail(vdev, error, errno == ENODEV || errno == ENOMEM ? -errno : -EINVAL);
  }
  rte_eth_dev* const dev = rte_eth_vdev_allocate(vdev, sizeof(Adapter));
  if (dev == nullptr)
    return Fail(vdev, "no ethdev port is free, or there is too little memory", -ENOMEM);
  const int failure = CreatePort(dev, std::move(attachment), Addresses::kVirtual, arguments.queues,
                                 RingEntries(arguments), &error);
  return failure == 0 ? 0 : Fail(vdev, error, failure);
}

int Remove(rte_vdev_device* vdev) { return RemovePort(rte_vdev_device_name(vdev)); }

constinit rte_vdev_driver driver = {
    .next = {},
    .driver = {},
    .probe = Probe,
    .remove = Remove,
    .dma_map = DmaMap,
    .dma_unmap = DmaUnmap,
    .drv_flags = 0,
};

}  // namespace

void Log(uint32_t level, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  rte_log(level, log_type, "net_ipu: %s\n", line);
}

RTE_INIT(net_ipu_register) {
  log_type = rte_log_register_type_and_pick_level("pmd.net.ipu", RTE_LOG_NOTICE);
  if (!drivers::FirstLoaded("librte_net_ipu.so")) return;
  driver.driver.name = "net_ipu";
  rte_vdev_register(&driver);
}

}  // namespace sluice::net_ipu

#define NET_IPU_PARAMETERS                                                        \
  "port=<string> queues=<1-16> ring=<64-4096> device=<string> device_uid=<int> "  \
  "wire=<string> on=<string> device_cpu=<int|worker> seed=<int> faults=<string> " \
  "verify=<string> pause=<on|off>"

RTE_PMD_REGISTER_PARAM_STRING(net_ipu, NET_IPU_PARAMETERS);
SLUICE_PMD_INFO(net_ipu, NET_IPU_PARAMETERS, "");
