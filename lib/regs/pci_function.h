// SPDX-License-Identifier: BSD-3-Clause
//
// What the NICs are as PCI functions: ids, BARs, and what lies in them. Ensō's ids are the
// hardware's (regs/enso.h); net_ipu's come from a range that is open to experiments. A driver finds
// its device by this header, and a model shows itself on a bus by it (docs/vfio-user.md).
#pragma once

#include <bit>
#include <cstdint>

#include "regs/enso.h"
#include "regs/ipu.h"
#include "regs/vectors.h"

namespace sluice::regs::pci {

/// Class code, subclass and programming interface of both: an Ethernet controller.
inline constexpr uint32_t kClass = 0x02'00'00;

// ---------------------------------------------------------------------- Ensō

/// BAR kPciBar: memory, 64-bit, prefetchable. The hardware decodes 1 GiB; a model the power of two
/// that holds the register file. No interrupts, and no other BAR that a driver needs.
inline constexpr uint32_t kEnsoBarBytes = std::bit_ceil(enso::kBarBytes);
static_assert(kEnsoBarBytes == 64u << 20);

// ------------------------------------------------------------------- net_ipu

/// Nobody's product: 1af4:10f0 to 1af4:10ff are open to experiments without registration (QEMU,
/// docs/specs/pci-ids). Subsystem ids are the same.
inline constexpr uint16_t kIpuVendor = 0x1af4;
inline constexpr uint16_t kIpuDevice = 0x10f0;
inline constexpr uint8_t kIpuRevision = 1;

/// Memory, 32-bit: the registers of regs/ipu.h. Accesses are messages, in order.
inline constexpr int kIpuRegisterBar = 0;
inline constexpr uint32_t kIpuRegisterBarBytes = ipu::kBarBytes;
static_assert(std::has_single_bit(kIpuRegisterBarBytes));

/// Memory, 64-bit, prefetchable: memory of the device's own for links, endpoints and windows. Host
/// and device see one memory, which is zero after a reset of the function. The device
/// knows byte n of it by the bus address kIpuLinesBus + n (ipu::kLinkBase, ipu::kEndpointBase),
/// which no host's memory has.
inline constexpr int kIpuLinesBar = 2;
inline constexpr uint32_t kIpuLinesBarBytes = 64u << 20;
inline constexpr uint64_t kIpuLinesBus = uint64_t{1} << 62;

/// Memory, 32-bit: the MSI-X table of kVectors entries of 16 bytes, and its pending bits.
inline constexpr int kIpuMsixBar = 4;
inline constexpr uint32_t kIpuMsixBarBytes = 4096;
inline constexpr uint32_t kIpuMsixTable = 0x000;
inline constexpr uint32_t kIpuMsixPending = 0x800;
static_assert(kVectors * 16 <= kIpuMsixPending);

}  // namespace sluice::regs::pci
