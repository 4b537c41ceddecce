// SPDX-License-Identifier: BSD-3-Clause
//
// The vfio-user messages, protocol version 0.0, that a PCI function needs (QEMU,
// docs/interop/vfio-user; the payloads are those of linux/vfio.h with fixed-size fields). The
// client is a virtual machine monitor. All fields are little-endian. A message consists of a header
// and a payload; files are attached to it (SCM_RIGHTS).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sluice::emulator::vfio_user {

enum class Command : uint16_t {
  kVersion = 1,   ///< First message. VersionMessage, then JSON terminated by a NUL.
  kDmaMap = 2,    ///< DmaMap and optionally a file; the reply is empty.
  kDmaUnmap = 3,  ///< DmaUnmap; the reply repeats it.
  kGetInfo = 4,
  kGetRegionInfo = 5,  ///< RegionInfo; the reply has a file if the client may map the region.
  kGetRegionIoFds = 6,
  kGetIrqInfo = 7,
  kSetIrqs = 8,       ///< IrqSet with data or files; the reply is empty.
  kRegionRead = 9,    ///< RegionAccess; the reply appends `count` bytes.
  kRegionWrite = 10,  ///< RegionAccess and `count` bytes; the reply has no bytes.
  kDmaRead = 11,      ///< Sent by the device: DmaAccess; the reply appends `count` bytes.
  kDmaWrite = 12,     ///< Sent by the device: DmaAccess and `count` bytes; the reply has no bytes.
  kReset = 13,
  kRegionWriteMulti = 15,  ///< u64 count, then `count` SingleWrite entries; only if negotiated.
};

struct Header {
  uint16_t id;  ///< Set by a request and copied to its reply.
  uint16_t command;
  uint32_t size;  ///< Size of the message including this header.
  uint32_t flags;
  uint32_t error;  ///< An errno in a reply with kErrorFlag.
};
inline constexpr uint32_t kTypeMask = 0xf;  ///< Type 0 is a request.
inline constexpr uint32_t kReplyType = 1;
inline constexpr uint32_t kNoReplyFlag = 1u << 4;
inline constexpr uint32_t kErrorFlag = 1u << 5;

struct VersionMessage {
  uint16_t major;
  uint16_t minor;
};

struct DmaMap {
  uint32_t argsz;
  uint32_t flags;   ///< kDmaReadable, kDmaWritable.
  uint64_t offset;  ///< Offset in the file.
  uint64_t address;
  uint64_t bytes;
};
inline constexpr uint32_t kDmaReadable = 1u << 0;
inline constexpr uint32_t kDmaWritable = 1u << 1;

struct DmaUnmap {
  uint32_t argsz;
  uint32_t flags;
  uint64_t address;
  uint64_t bytes;
};
inline constexpr uint32_t kUnmapAll = 1u << 1;  ///< Address and bytes must be 0.

struct DeviceInfo {
  uint32_t argsz;
  uint32_t flags;
  uint32_t regions;
  uint32_t irqs;
};
inline constexpr uint32_t kDeviceResets = 1u << 0;
inline constexpr uint32_t kDeviceIsPci = 1u << 1;

struct RegionInfo {
  uint32_t argsz;
  uint32_t flags;
  uint32_t index;
  uint32_t capability_offset;
  uint64_t bytes;
  uint64_t offset;  ///< Offset in the file of a mappable region.
};
inline constexpr uint32_t kRegionReadable = 1u << 0;
inline constexpr uint32_t kRegionWritable = 1u << 1;
inline constexpr uint32_t kRegionMappable = 1u << 2;

/// Regions of a PCI function: BARs 0 to 5, the ROM, config space, VGA.
inline constexpr uint32_t kBars = 6;
inline constexpr uint32_t kConfigRegion = 7;
inline constexpr uint32_t kRegions = 9;

struct IrqInfo {
  uint32_t argsz;
  uint32_t flags;
  uint32_t index;
  uint32_t count;
};
inline constexpr uint32_t kIrqEventfd = 1u << 0;

/// Interrupts of a PCI function: INTx, MSI, MSI-X, errors, requests.
inline constexpr uint32_t kMsixIrq = 2;
inline constexpr uint32_t kIrqs = 5;

struct IrqSet {
  uint32_t argsz;
  uint32_t flags;
  uint32_t index;
  uint32_t start;
  uint32_t count;
};
inline constexpr uint32_t kIrqDataNone = 1u << 0;
inline constexpr uint32_t kIrqDataBool = 1u << 1;
inline constexpr uint32_t kIrqDataEventfd = 1u << 2;
inline constexpr uint32_t kIrqActionTrigger = 1u << 5;

struct RegionAccess {
  uint64_t offset;
  uint32_t region;
  uint32_t count;
};

struct SingleWrite {
  uint64_t offset;
  uint32_t region;
  uint32_t count;  ///< 1 to 8.
  uint64_t value;
};

struct DmaAccess {
  uint64_t address;
  uint64_t count;
};

/// Maximum number of data bytes in one region access and in one DMA message.
inline constexpr uint32_t kMaxTransferBytes = 1u << 20;
/// Maximum number of files attached to one message.
inline constexpr uint32_t kMaxMessageFiles = 8;
/// Maximum size of a valid message.
inline constexpr size_t kMaxMessageBytes = sizeof(Header) + sizeof(DmaAccess) + kMaxTransferBytes;

template <typename T>
inline constexpr bool kIsWire =
    std::is_trivially_copyable_v<T>&& std::has_unique_object_representations_v<T>;
static_assert(kIsWire<Header> && sizeof(Header) == 16);
static_assert(kIsWire<VersionMessage> && sizeof(VersionMessage) == 4);
static_assert(kIsWire<DmaMap> && sizeof(DmaMap) == 32);
static_assert(kIsWire<DmaUnmap> && sizeof(DmaUnmap) == 24);
static_assert(kIsWire<DeviceInfo> && sizeof(DeviceInfo) == 16);
static_assert(kIsWire<RegionInfo> && sizeof(RegionInfo) == 32);
static_assert(kIsWire<IrqInfo> && sizeof(IrqInfo) == 16);
static_assert(kIsWire<IrqSet> && sizeof(IrqSet) == 20);
static_assert(kIsWire<RegionAccess> && sizeof(RegionAccess) == 16);
static_assert(kIsWire<SingleWrite> && sizeof(SingleWrite) == 24);
static_assert(kIsWire<DmaAccess> && sizeof(DmaAccess) == 16);

}  // namespace sluice::emulator::vfio_user
