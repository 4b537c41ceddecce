// SPDX-License-Identifier: BSD-3-Clause
//
// The NICs as PCI functions: ids, BARs, and the contents of the BARs. Ensō's ids are those of the
// hardware (regs/enso.h), and net_ipu's are from a range reserved for experiments. A driver finds
// its device by these ids, and a model presents them on a bus (docs/vfio-user.md).
#pragma once

#include <bit>
#include <cstdint>

#include "regs/enso.h"
#include "regs/ipu.h"
#include "regs/vectors.h"

namespace sluice::regs::pci {

/// Class code, subclass and programming interface of both NICs: an Ethernet controller.
inline constexpr uint32_t kClass = 0x02'00'00;

// ---------------------------------------------------------------------- Ensō

/// BAR kPciBar: memory, 64-bit, prefetchable. The hardware decodes 1 GiB; a model decodes the
/// smallest power of two that covers the register file. The driver needs neither interrupts nor
/// another BAR.
inline constexpr uint32_t kEnsoBarBytes = std::bit_ceil(enso::kBarBytes);
static_assert(kEnsoBarBytes == 64u << 20);

// ------------------------------------------------------------------- net_ipu

/// Not an assigned product: 1af4:10f0 to 1af4:10ff may be used for experiments without registration
/// (QEMU, docs/specs/pci-ids). The subsystem ids are the same.
inline constexpr uint16_t kIpuVendor = 0x1af4;
inline constexpr uint16_t kIpuDevice = 0x10f0;
inline constexpr uint8_t kIpuRevision = 1;

/// Memory, 32-bit: the registers in regs/ipu.h. Accesses are transported as messages, in order.
inline constexpr int kIpuRegisterBar = 0;
inline constexpr uint32_t kIpuRegisterBarBytes = ipu::kBarBytes;
static_assert(std::has_single_bit(kIpuRegisterBarBytes));

/// Memory, 64-bit, prefetchable: device memory for links, endpoints and windows. Host and device
/// access the same memory, which is zero after a function reset. For the device, byte n is at the
/// bus address kIpuLinesBus + n (ipu::kLinkBase, ipu::kEndpointBase), which is not an address in
/// host memory.
inline constexpr int kIpuLinesBar = 2;
inline constexpr uint32_t kIpuLinesBarBytes = 64u << 20;
inline constexpr uint64_t kIpuLinesBus = uint64_t{1} << 62;

/// Memory, 32-bit: the MSI-X table, which has kVectors entries of 16 bytes, and its pending bits.
inline constexpr int kIpuMsixBar = 4;
inline constexpr uint32_t kIpuMsixBarBytes = 4096;
inline constexpr uint32_t kIpuMsixTable = 0x000;
inline constexpr uint32_t kIpuMsixPending = 0x800;
static_assert(kVectors * 16 <= kIpuMsixPending);

}  // namespace sluice::regs::pci
