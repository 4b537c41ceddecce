// SPDX-License-Identifier: BSD-3-Clause
//
// Probes the FPGA: vendor 1172, device 0000, BAR 2 (docs/enso-hardware.md, "Identity and
// registers"). This code has never run on hardware. Probing and mapping are tested with a fake
// sysfs tree, and in virtual machines with the model on their bus (docs/vm.md).
//
// EAL maps the BAR if VFIO or UIO is bound. With another kernel driver such as Ensō's, the BAR is
// mapped from sysfs. EAL ignores devices without a kernel driver. Bus addresses are IOVAs: virtual
// addresses with VFIO, otherwise physical addresses of huge pages, which require the IOMMU to be
// off.
#include <bus_pci_driver.h>
#include <fcntl.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memory.h>
#include <rte_vfio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "net_enso/enso_args.h"
#include "net_enso/enso_port.h"
#include "pmd_info.h"
#include "register_once.h"

namespace sluice::net_enso {
namespace {

using namespace regs::enso;

class PciBackend final : public Backend {
 public:
  /// `mapping` is unmapped with the object; null selects EAL's mapping at `registers`.
  PciBackend(rte_pci_device* device, void* registers, void* mapping)
      : device_(device), registers_(registers, kBarBytes, &link_), mapping_(mapping) {}
  ~PciBackend() override {
    if (mapping_ != nullptr) {
      munmap(mapping_, kBarBytes);
    } else {
      rte_pci_unmap_device(device_);
    }
  }

  bar::Bar registers() override { return registers_; }
  bar::RingMemory::Pages pages() const override {
    return Virtual() ? bar::RingMemory::Pages::kPreferHuge : bar::RingMemory::Pages::kHuge;
  }

  bool Map(const bar::RingMemory& memory, uint64_t* bus) override {
    if (Virtual()) {
      *bus = reinterpret_cast<uintptr_t>(memory.data());
      return rte_vfio_container_dma_map(RTE_VFIO_DEFAULT_CONTAINER_FD, *bus, *bus,
                                        memory.bytes()) == 0;
    }
    // The ring must fit into one huge page, because a larger ring might not be contiguous.
    *bus = rte_mem_virt2phy(memory.data());
    return memory.bytes() == bar::RingMemory::kHugePageBytes && *bus != RTE_BAD_IOVA;
  }
  void LogNoRing(size_t bytes) override {
    const char* const name = device_->device.name;
    if (Virtual()) {
      ENSO_LOG(ERR, "%s: no memory for a ring of %zu bytes, or VFIO does not map it: %s", name,
               bytes, rte_strerror(rte_errno));
      return;
    }
    ENSO_LOG(ERR,
             "%s: a ring of %zu bytes must be physically contiguous: reserve one more 2 MB "
             "hugepage beside EAL's and run as root, or use vfio-pci with an IOMMU",
             name, bytes);
  }
  void Unmap(const bar::RingMemory& memory, uint64_t bus) override {
    if (!Virtual()) return;
    rte_vfio_container_dma_unmap(RTE_VFIO_DEFAULT_CONTAINER_FD, bus, bus, memory.bytes());
  }
  bool Answers() override {
    registers_.Read32(link_.witness());
    return link_.up();
  }

 private:
  static bool Virtual() { return rte_eal_iova_mode() == RTE_IOVA_VA; }

  rte_pci_device* device_;
  /// Checks the link by reading a tail register, which never reads as all ones: a tail is less than
  /// the number of flits in its pipe.
  bar::FunctionLink link_{PipePage(0) + kRxTail};
  bar::Bar registers_;
  void* mapping_;
};

/// Opens a file in the device's sysfs folder. Returns −1 on failure.
int OpenSysfs(const rte_pci_device* device, const char* file) {
  const std::string path =
      std::string(rte_pci_get_sysfs_path()) + "/" + device->device.name + "/" + file;
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

/// Enables BAR decoding and bus mastering if the device's kernel driver has not done so.
bool EnableDevice(const rte_pci_device* device) {
  constexpr off_t kCommandOffset = 4;
  constexpr uint16_t kMemoryAndMaster = 0x0006;
  const int fd = OpenSysfs(device, "config");
  if (fd < 0) return false;
  uint16_t command = 0;
  bool done = pread(fd, &command, sizeof(command), kCommandOffset) == sizeof(command);
  command |= kMemoryAndMaster;
  done = done && pwrite(fd, &command, sizeof(command), kCommandOffset) == sizeof(command);
  close(fd);
  return done;
}

void* MapFromSysfs(const rte_pci_device* device) {
  const int fd = OpenSysfs(device, "resource2");
  if (fd < 0) return nullptr;
  void* registers = mmap(nullptr, kBarBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return registers == MAP_FAILED ? nullptr : registers;
}

std::unique_ptr<Backend> MapDevice(rte_pci_device* device, std::string* error) {
  if (device->mem_resource[kPciBar].len < kBarBytes) {
    *error = "BAR 2 is smaller than the registers: load the Ensō bitstream";
    return nullptr;
  }
  const bool bound = device->kdrv == RTE_PCI_KDRV_VFIO || device->kdrv == RTE_PCI_KDRV_IGB_UIO ||
                     device->kdrv == RTE_PCI_KDRV_UIO_GENERIC;
  if (bound) {
    if (rte_pci_map_device(device) != 0 || device->mem_resource[kPciBar].addr == nullptr) {
      *error = "EAL cannot map BAR 2";
      return nullptr;
    }
    rte_pci_set_bus_master(device, true);
    return std::make_unique<PciBackend>(device, device->mem_resource[kPciBar].addr, nullptr);
  }
  if (!EnableDevice(device)) {
    *error =
        std::string("cannot write the configuration space of the device: ") + std::strerror(errno);
    return nullptr;
  }
  void* registers = MapFromSysfs(device);
  if (registers == nullptr) {
    *error = std::string("cannot map BAR 2 (resource2): ") + std::strerror(errno);
    return nullptr;
  }
  return std::make_unique<PciBackend>(device, registers, registers);
}

int Probe(rte_pci_driver*, rte_pci_device* device) {
  const char* name = device->device.name;
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
    return AttachSecondaryPort(&device->device, name);
  }
  Arguments arguments;
  std::string error;
  const char* text = device->device.devargs == nullptr ? nullptr : device->device.devargs->args;
  if (!ParseArguments(text, {}, &arguments, &error)) {
    ENSO_LOG(ERR, "%s: %s", name, error.c_str());
    return -EINVAL;
  }
  if (arguments.notify_per_packet) {
    ENSO_LOG(ERR,
             "%s: notify=packet is not possible, since the FPGA's notification rings are smaller "
             "than a pipe: omit notify",
             name);
    return -EINVAL;
  }
  if (arguments.pipe_flits != 0) {
    ENSO_LOG(
        ERR,
        "%s: the FPGA's pipes always have %u flits: omit pipe_flits, which applies only to models",
        name, kDefaultPipeFlits);
    return -EINVAL;
  }
  std::unique_ptr<Backend> backend = MapDevice(device, &error);
  if (backend == nullptr) {
    ENSO_LOG(ERR, "%s: %s", name, error.c_str());
    return -ENODEV;
  }
  const Geometry geometry{kDefaultPipeFlits, kDefaultNbEntries, false, arguments.notify_prefetched};
  return CreatePort(&device->device, name, std::move(backend), geometry, arguments.pipes,
                    arguments.exception);
}

int Remove(rte_pci_device* device) { return RemovePort(device->device.name); }

constexpr rte_pci_id kIds[] = {{RTE_PCI_DEVICE(kPciVendor, kPciDevice)}, {}};

constinit rte_pci_driver pci_driver = [] {
  rte_pci_driver driver{};
  driver.driver.name = "net_enso_pci";
  driver.id_table = kIds;
  driver.probe = Probe;
  driver.remove = Remove;
  return driver;
}();

}  // namespace
}  // namespace sluice::net_enso

RTE_INIT(net_enso_pci_register) {
  if (!sluice::drivers::FirstLoaded("librte_net_enso.so")) return;
  rte_pci_register(&sluice::net_enso::pci_driver);
}
#define NET_ENSO_PCI_PARAMETERS "pipes=<1-8192> notify=<reactive|prefetch> exception=<string>"

RTE_PMD_REGISTER_PARAM_STRING(net_enso_pci, NET_ENSO_PCI_PARAMETERS);
static_assert(sluice::regs::enso::kPciVendor == 4466 && sluice::regs::enso::kPciDevice == 0);
SLUICE_PMD_INFO(net_enso_pci, NET_ENSO_PCI_PARAMETERS, "[4466, 0, 65535, 65535]");
