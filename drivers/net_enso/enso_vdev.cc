// SPDX-License-Identifier: BSD-3-Clause
//
// Probes `--vdev=net_enso<n>[,key=value…]`: the NIC is a model in this process or in another one.
//
// Bus addresses are virtual addresses of the driver's rings. Mbufs are never passed to the device,
// so EAL's IOVA mode does not matter.
#include <bus_vdev_driver.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "emulator/enso_model.h"
#include "net_enso/enso_args.h"
#include "net_enso/enso_port.h"
#include "pmd_info.h"
#include "register_once.h"

namespace sluice::net_enso {
namespace {

class ModelBackend final : public Backend {
 public:
  explicit ModelBackend(std::unique_ptr<emulator::Attachment> attachment)
      : attachment_(std::move(attachment)) {}

  bar::Bar registers() override { return attachment_->registers(); }
  bar::RingMemory::Pages pages() const override { return bar::RingMemory::Pages::kPreferHuge; }
  bool Map(const bar::RingMemory& memory, uint64_t* bus) override {
    *bus = reinterpret_cast<uintptr_t>(memory.data());
    return attachment_->Map(memory);
  }
  void Unmap(const bar::RingMemory& memory, uint64_t) override { attachment_->Unmap(memory); }
  emulator::Attachment* model() override { return attachment_.get(); }
  uint32_t Generation() const override { return attachment_->Generation(); }

 private:
  std::unique_ptr<emulator::Attachment> attachment_;
};

int Probe(rte_vdev_device* vdev) {
  const char* name = rte_vdev_device_name(vdev);
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
    return AttachSecondaryPort(&vdev->device, name);
  }
  Arguments arguments;
  Geometry geometry;
  std::string error;
  if (!ParseArguments(rte_vdev_device_args(vdev), emulator::ArgumentKeys(), &arguments, &error) ||
      !ModelGeometry(arguments, &geometry, &error)) {
    ENSO_LOG(ERR, "%s: %s", name, error.c_str());
    return -EINVAL;
  }
  errno = 0;
  auto attachment = emulator::Attach(
      name, emulator::kEnsoModel,
      emulator::EnsoSettings(geometry.pipe_flits, geometry.nb_entries, geometry.notify_per_packet),
      arguments.passed_on, &error);
  if (attachment == nullptr) {
    // The program reads rte_errno together with the log line (runtime/start_log.h).
    rte_errno = errno == ENODEV || errno == ENOMEM ? errno : EINVAL;
    ENSO_LOG(ERR, "%s: %s", name, error.c_str());
    return -rte_errno;
  }
  return CreatePort(&vdev->device, name, std::make_unique<ModelBackend>(std::move(attachment)),
                    geometry, arguments.pipes, arguments.exception);
}

int Remove(rte_vdev_device* vdev) { return RemovePort(rte_vdev_device_name(vdev)); }

constinit rte_vdev_driver vdev_driver = [] {
  rte_vdev_driver driver{};
  driver.driver.name = "net_enso";
  driver.probe = Probe;
  driver.remove = Remove;
  return driver;
}();

}  // namespace
}  // namespace sluice::net_enso

RTE_INIT(net_enso_vdev_register) {
  if (!sluice::drivers::FirstLoaded("librte_net_enso.so")) return;
  rte_vdev_register(&sluice::net_enso::vdev_driver);
}
#define NET_ENSO_PARAMETERS                                                       \
  "pipes=<1-8192> notify=<reactive|packet|prefetch> "                             \
  "pipe_flits=<256-1048576> exception=<string> "                                  \
  "wire=<string> on=<string> device_cpu=<int|worker> seed=<int> faults=<string> " \
  "verify=<string> pause=<on|off> device=<string> device_uid=<int>"

RTE_PMD_REGISTER_PARAM_STRING(net_enso, NET_ENSO_PARAMETERS);
SLUICE_PMD_INFO(net_enso, NET_ENSO_PARAMETERS, "");
RTE_LOG_REGISTER(net_enso_log_type, pmd.net.enso, NOTICE);
