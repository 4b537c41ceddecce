// SPDX-License-Identifier: BSD-3-Clause
//
// Implements net_ipu for a function on a PCI bus (regs/pci_function.h), where it differs from an
// attached model (emulator/attach.h). EAL maps the BARs through vfio-pci or uio_pci_generic. The
// device accesses mbufs and rings by their IOVAs; links and endpoints are in one of the device's
// BARs. Interrupts are MSI-X, which only vfio-pci supports.
#include <bus_pci_driver.h>
#include <ethdev_driver.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_interrupts.h>
#include <rte_malloc.h>

#include <array>
#include <atomic>
#include <bitset>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "emulator/options.h"
#include "net_ipu/ipu_adapter.h"
#include "net_ipu/ipu_secondary.h"
#include "pmd_info.h"
#include "register_once.h"
#include "regs/pci_function.h"
#include "regs/vectors.h"
#include "split_arguments.h"

namespace sluice::net_ipu {
namespace {

using namespace regs::pci;

/// The BAR that links and endpoints share, allocated in units of kUnit.
class LinesBar {
 public:
  static constexpr size_t kUnit = bar::RingMemory::kHugePageBytes;
  static constexpr size_t kUnits = kIpuLinesBarBytes / kUnit;

  /// `begin` is the BAR's mapped address, or null if it is not mapped.
  explicit LinesBar(void* begin) : begin_(static_cast<uint8_t*>(begin)) {}

  bar::RingMemory Allocate(size_t bytes) {
    const size_t units = (bytes + kUnit - 1) / kUnit;
    const std::scoped_lock lock(mutex_);
    size_t free = 0;
    for (size_t at = 0; begin_ != nullptr && at < kUnits; ++at) {
      free = used_[at] ? 0 : free + 1;
      if (free < units) continue;
      const size_t first = at + 1 - units;
      for (size_t unit = first; unit <= at; ++unit) used_.set(unit);
      std::memset(begin_ + first * kUnit, 0, bytes);
      return bar::RingMemory::Over(begin_ + first * kUnit, bytes);
    }
    return {};
  }
  void Return(const bar::RingMemory& memory) {
    const std::scoped_lock lock(mutex_);
    const size_t first = OffsetOf(memory) / kUnit;
    for (size_t at = 0; at * kUnit < memory.bytes(); ++at) used_.reset(first + at);
  }
  size_t OffsetOf(const bar::RingMemory& memory) const {
    return static_cast<size_t>(memory.data() - begin_);
  }

 private:
  uint8_t* begin_;
  std::mutex mutex_;
  std::bitset<kUnits> used_;
};

class PciFunction final : public emulator::Attachment {
 public:
  /// Returns null and sets errno if memory cannot be allocated.
  static std::unique_ptr<PciFunction> Create(rte_pci_device* device) {
    // Allocated in shared memory, because queues, and therefore secondary processes, have pointers
    // to it.
    void* const link = rte_zmalloc("net_ipu", sizeof(bar::FunctionLink), 0);
    if (link == nullptr) {
      errno = ENOMEM;
      return nullptr;
    }
    return std::unique_ptr<PciFunction>(
        new PciFunction(device, new (link) bar::FunctionLink(regs::ipu::kDeviceId)));
  }
  ~PciFunction() override {
    if (interrupts_) {
      rte_intr_disable(device_->intr_handle);
      rte_intr_efd_disable(device_->intr_handle);
    }
    rte_free(link_);
  }

  bar::Bar& registers() override { return registers_; }
  /// Secondary processes map the function's registers themselves.
  const bar::RingMemory& register_memory() const override { return no_memory_; }

  bool Map(const bar::RingMemory&, std::string_view) override { return registers_.LinkUp(); }
  void Unmap(const bar::RingMemory& memory) override { lines_.Return(memory); }
  bar::RingMemory Allocate(size_t bytes) override { return lines_.Allocate(bytes); }
  uint64_t BusOf(const bar::RingMemory& memory) const override {
    return kIpuLinesBus + lines_.OffsetOf(memory);
  }
  int MapExternal(void*, size_t, std::string* error) override {
    *error = "the PCI bus maps memory";
    return -ENOTSUP;
  }
  int UnmapExternal(void*, size_t) override { return -EINVAL; }
  /// Always returns an empty object, because the memory of a function is lost when the function is
  /// reset.
  bar::RingMemory Adopt(std::string_view) override { return {}; }

  /// Always returns 1, because a lost function does not return to this driver; its successor is
  /// probed as a new device.
  uint32_t Generation() const override { return 1; }
  int InterruptFd(uint32_t vector) override {
    if (!interrupts_) {
      errno = ENOTSUP;
      return -1;
    }
    if (vector == regs::kPortVector) return rte_intr_fd_get(device_->intr_handle);
    if (vector <= regs::ipu::kMaxQueues) {
      return rte_intr_efds_index_get(device_->intr_handle, static_cast<int>(vector - 1));
    }
    errno = EINVAL;
    return -1;
  }

  std::vector<emulator::Statistic> Statistics() override {
    const std::scoped_lock lock(statistics_mutex_);
    std::vector<emulator::Statistic> list;
    for (uint32_t i = 0; i < regs::ipu::kStatisticCount; ++i) {
      const uint64_t value = registers_.Read64(regs::ipu::StatisticRegister(i));
      if (registers_.LinkUp()) statistics_[i] = value;
      list.push_back({std::string("model_") + regs::ipu::kStatisticRows[i].name, statistics_[i]});
    }
    return list;
  }
  bool WireUp() override {
    const uint32_t status = registers_.Read32(regs::ipu::kPortStatus);
    return registers_.LinkUp() && (status & regs::ipu::kPortCarrier) != 0;
  }
  void MacAddress(uint8_t mac[6]) override {
    const uint64_t address = registers_.Read64(regs::ipu::kPermanentAddress);
    std::memcpy(mac, &address, RTE_ETHER_ADDR_LEN);
  }
  /// Has no effect, because the driver does not control the wire of hardware. Only kPortReceive
  /// controls whether frames are accepted.
  void EnableWire(bool) override {}

 private:
  PciFunction(rte_pci_device* device, bar::FunctionLink* link)
      : device_(device),
        link_(link),
        registers_(device->mem_resource[kIpuRegisterBar].addr, kIpuRegisterBarBytes, link),
        lines_(device->mem_resource[kIpuLinesBar].len >= kIpuLinesBarBytes
                   ? device->mem_resource[kIpuLinesBar].addr
                   : nullptr) {
    rte_intr_handle* const handle = device->intr_handle;
    if (rte_intr_type_get(handle) != RTE_INTR_HANDLE_VFIO_MSIX) return;
    // Enables every vector at once, because VFIO cannot add vectors while others are in use.
    if (rte_intr_efd_enable(handle, regs::ipu::kMaxQueues) != 0) return;
    interrupts_ = rte_intr_enable(handle) == 0;
    if (!interrupts_) rte_intr_efd_disable(handle);
  }

  rte_pci_device* device_;
  bar::FunctionLink* link_;
  bar::Bar registers_;
  bar::RingMemory no_memory_;
  LinesBar lines_;
  bool interrupts_ = false;
  std::mutex statistics_mutex_;
  std::array<uint64_t, regs::ipu::kStatisticCount> statistics_{};
};

bool ParseArguments(const char* text, uint32_t* queues, std::string* error) {
  std::vector<emulator::Argument> list;
  if (!drivers::SplitArguments(text, &list, error)) return false;
  for (const auto& [key, value] : list) {
    if (key != "queues") {
      *error =
          "unknown argument '" + key + "': a device on the PCI bus has only the argument queues";
      return false;
    }
    if (!emulator::ReadNumber(value, 1, regs::ipu::kMaxQueues, queues)) {
      *error = "queues=" + value + ": give the number of queue pairs, 1 to " +
               std::to_string(regs::ipu::kMaxQueues);
      return false;
    }
  }
  return true;
}

rte_eth_dev* AllocatePort(rte_pci_device* device) {
  rte_eth_dev* const dev = rte_eth_dev_allocate(device->device.name);
  if (dev == nullptr) return nullptr;
  dev->data->dev_private =
      rte_zmalloc_socket("net_ipu", sizeof(Adapter), alignof(Adapter), device->device.numa_node);
  if (dev->data->dev_private == nullptr) {
    rte_eth_dev_release_port(dev);
    return nullptr;
  }
  dev->device = &device->device;
  dev->data->numa_node = device->device.numa_node;
  return dev;
}

int Fail(const rte_pci_device* device, const std::string& error, int code) {
  Log(RTE_LOG_ERR, "%s: %s", device->device.name, error.c_str());
  return code;
}

int Probe(rte_pci_driver*, rte_pci_device* device) {
  const rte_mem_resource& bar = device->mem_resource[kIpuRegisterBar];
  if (bar.addr == nullptr || bar.len < kIpuRegisterBarBytes) {
    return Fail(device, "BAR 0 is not mapped, or smaller than the registers", -ENODEV);
  }
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) return ProbeSecondary(device);
  ServeSecondaries();
  std::string error;
  uint32_t queues = regs::ipu::kMaxQueues;
  const char* const text = device->device.devargs == nullptr ? "" : device->device.devargs->args;
  if (!ParseArguments(text, &queues, &error)) return Fail(device, error, -EINVAL);
  rte_pci_set_bus_master(device, true);
  std::unique_ptr<PciFunction> function = PciFunction::Create(device);
  if (function == nullptr) return Fail(device, "no memory for the port", -errno);
  rte_eth_dev* const dev = AllocatePort(device);
  if (dev == nullptr)
    return Fail(device, "no ethdev port is free, or there is too little memory", -ENOMEM);
  const int failure =
      CreatePort(dev, std::move(function), Addresses::kIova, queues, kUsualRing, &error);
  return failure == 0 ? 0 : Fail(device, error, failure);
}

int Remove(rte_pci_device* device) { return RemovePort(device->device.name); }

constexpr rte_pci_id kIds[] = {{RTE_PCI_DEVICE(kIpuVendor, kIpuDevice)}, {}};

constinit rte_pci_driver pci_driver = [] {
  rte_pci_driver driver{};
  driver.driver.name = "net_ipu_pci";
  driver.id_table = kIds;
  driver.probe = Probe;
  driver.remove = Remove;
  driver.drv_flags = RTE_PCI_DRV_NEED_MAPPING;
  return driver;
}();

RTE_INIT(net_ipu_pci_register) {
  if (drivers::FirstLoaded("librte_net_ipu.so")) rte_pci_register(&pci_driver);
}

}  // namespace
}  // namespace sluice::net_ipu

RTE_PMD_EXPORT_NAME(net_ipu_pci, __COUNTER__);
RTE_PMD_REGISTER_PARAM_STRING(net_ipu_pci, "queues=<1-16>");
static_assert(sluice::regs::pci::kIpuVendor == 6900 && sluice::regs::pci::kIpuDevice == 4336);
SLUICE_PMD_INFO(net_ipu_pci, "queues=<1-16>", "[6900, 4336, 65535, 65535]");
