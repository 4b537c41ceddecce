// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/vfio_user/config_space.h"

#include <linux/pci_regs.h>

#include <cstring>

#include "regs/pci_function.h"

namespace sluice::emulator::vfio_user {
namespace {

constexpr uint32_t kCommandWritable = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY |
                                      PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE;
/// The link reports 8 GT/s and 16 lanes.
constexpr uint32_t kSpeed = PCI_EXP_LNKCAP_SLS_8_0GB;
constexpr uint32_t kWidth = 16;
constexpr uint32_t kWidthShift = 4;
constexpr uint32_t kExpressVersion = 2;
/// All bits of Device Control except the reset, which always reads as 0.
constexpr uint32_t kDeviceControlWritable = 0x7fff;
constexpr uint32_t kDeviceControlAtReset =
    PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ_512B;
constexpr uint32_t kLinkControlWritable =
    PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES;
constexpr uint32_t kDeviceControl2Writable = 0x1f;  // Completion timeouts.

}  // namespace

ConfigSpace::ConfigSpace(const PciFunction& function) : function_(function) { Reset(); }

void ConfigSpace::Put(uint32_t offset, uint32_t bytes, uint32_t value, uint32_t writable) {
  std::memcpy(&bytes_[offset], &value, bytes);
  std::memcpy(&writable_[offset], &writable, bytes);
}

uint16_t ConfigSpace::Word(uint32_t offset) const {
  uint16_t value;
  std::memcpy(&value, &bytes_[offset], sizeof(value));
  return value;
}

void ConfigSpace::Reset() {
  bytes_ = {};
  writable_ = {};
  Put(PCI_VENDOR_ID, 2, function_.vendor);
  Put(PCI_DEVICE_ID, 2, function_.device);
  Put(PCI_COMMAND, 2, 0, kCommandWritable);
  Put(PCI_STATUS, 2, PCI_STATUS_CAP_LIST);
  Put(PCI_CLASS_REVISION, 4, regs::pci::kClass << 8 | function_.revision);
  Put(PCI_CACHE_LINE_SIZE, 1, 0, 0xff);
  for (uint32_t i = 0; i < kBars; ++i) {
    const BarLayout& bar = function_.bars[i];
    if (bar.kind == BarKind::kNone) continue;
    const uint32_t flags =
        bar.wide ? PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH : 0;
    Put(PCI_BASE_ADDRESS_0 + 4 * i, 4, flags, ~(bar.bytes - 1));
    if (bar.wide) Put(PCI_BASE_ADDRESS_0 + 4 * (i + 1), 4, 0, ~0u);
  }
  Put(PCI_SUBSYSTEM_VENDOR_ID, 2, function_.vendor);
  Put(PCI_SUBSYSTEM_ID, 2, function_.device);
  Put(PCI_CAPABILITY_LIST, 1, kExpress);
  Put(PCI_INTERRUPT_LINE, 1, 0, 0xff);

  const bool msix = function_.msix.vectors != 0;
  Put(kExpress + PCI_CAP_LIST_ID, 1, PCI_CAP_ID_EXP);
  Put(kExpress + PCI_CAP_LIST_NEXT, 1, msix ? kMsix : 0);
  Put(kExpress + PCI_EXP_FLAGS, 2, kExpressVersion | PCI_EXP_TYPE_ENDPOINT << 4);
  Put(kExpress + PCI_EXP_DEVCAP, 4, PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR | 1 /* 256 bytes */);
  Put(kExpress + PCI_EXP_DEVCTL, 2, kDeviceControlAtReset, kDeviceControlWritable);
  Put(kExpress + PCI_EXP_LNKCAP, 4, kSpeed | kWidth << kWidthShift);
  Put(kExpress + PCI_EXP_LNKCTL, 2, 0, kLinkControlWritable);
  Put(kExpress + PCI_EXP_LNKSTA, 2, kSpeed | kWidth << kWidthShift);
  Put(kExpress + PCI_EXP_DEVCAP2, 4, PCI_EXP_DEVCAP2_COMP_TMOUT_DIS);
  Put(kExpress + PCI_EXP_DEVCTL2, 2, 0, kDeviceControl2Writable);
  Put(kExpress + PCI_EXP_LNKCAP2, 4,
      PCI_EXP_LNKCAP2_SLS_2_5GB | PCI_EXP_LNKCAP2_SLS_5_0GB | PCI_EXP_LNKCAP2_SLS_8_0GB);
  Put(kExpress + PCI_EXP_LNKCTL2, 2, kSpeed, PCI_EXP_LNKCTL2_TLS);

  if (!msix) return;
  const MsixLayout& layout = function_.msix;
  Put(kMsix + PCI_CAP_LIST_ID, 1, PCI_CAP_ID_MSIX);
  Put(kMsix + PCI_MSIX_FLAGS, 2, layout.vectors - 1,
      PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
  Put(kMsix + PCI_MSIX_TABLE, 4, layout.table | layout.bar);
  Put(kMsix + PCI_MSIX_PBA, 4, layout.pending | layout.bar);
}

void ConfigSpace::Read(uint32_t offset, std::span<uint8_t> data) const {
  std::memcpy(data.data(), &bytes_[offset], data.size());
}

bool ConfigSpace::Write(uint32_t offset, std::span<const uint8_t> data) {
  for (size_t i = 0; i < data.size(); ++i) {
    const uint8_t writable = writable_[offset + i];
    uint8_t& byte = bytes_[offset + i];
    byte = static_cast<uint8_t>((byte & ~writable) | (data[i] & writable));
  }
  // The reset bit is in the upper byte of Device Control.
  constexpr uint32_t kResetByte = kExpress + PCI_EXP_DEVCTL + 1;
  return offset <= kResetByte && kResetByte - offset < data.size() &&
         (data[kResetByte - offset] & PCI_EXP_DEVCTL_BCR_FLR >> 8) != 0;
}

bool ConfigSpace::memory_enabled() const { return (Word(PCI_COMMAND) & PCI_COMMAND_MEMORY) != 0; }

bool ConfigSpace::bus_master() const { return (Word(PCI_COMMAND) & PCI_COMMAND_MASTER) != 0; }

uint64_t ConfigSpace::BarAddress(uint32_t bar) const {
  uint64_t address = 0;
  std::memcpy(&address, &bytes_[PCI_BASE_ADDRESS_0 + 4 * bar], function_.bars[bar].wide ? 8 : 4);
  return address & ~uint64_t{0xf};
}

}  // namespace sluice::emulator::vfio_user
