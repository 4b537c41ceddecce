// SPDX-License-Identifier: BSD-3-Clause
//
// Messages of the vfio-user protocol, version 0.0, as far as a PCI function needs them (QEMU,
// docs/interop/vfio-user; the payloads are those of linux/vfio.h with fields of fixed size). The
// client is a virtual machine monitor. All fields are little-endian; a message is a header and a
// payload, and files travel beside it (SCM_RIGHTS).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sluice::emulator::vfio_user {

enum class Command : uint16_t {
  kVersion = 1,   ///< First. VersionMessage, then JSON that ends with a NUL.
  kDmaMap = 2,    ///< DmaMap and a file, or none; the reply is empty.
  kDmaUnmap = 3,  ///< DmaUnmap; the reply is the same.
  kGetInfo = 4,
  kGetRegionInfo = 5,  ///< RegionInfo; the reply has a file if the client may map the region.
  kGetRegionIoFds = 6,
  kGetIrqInfo = 7,
  kSetIrqs = 8,       ///< IrqSet with data, or files; the reply is empty.
  kRegionRead = 9,    ///< RegionAccess; the reply has `count` bytes behind it.
  kRegionWrite = 10,  ///< RegionAccess and `count` bytes; the reply has none.
  kDmaRead = 11,      ///< From the device: DmaAccess; the reply has `count` bytes behind it.
  kDmaWrite = 12,     ///< From the device: DmaAccess and `count` bytes; the reply has none.
  kReset = 13,
  kRegionWriteMulti = 15,  ///< u64 count, and as many SingleWrite; if it was agreed.
};

struct Header {
  uint16_t id;  ///< Of a request; its reply has the same.
  uint16_t command;
  uint32_t size;  ///< Of the whole message, this header included.
  uint32_t flags;
  uint32_t error;  ///< An errno, in a reply with kErrorFlag.
};
inline constexpr uint32_t kTypeMask = 0xf;  ///< 0: a request.
inline constexpr uint32_t kReplyType = 1;
inline constexpr uint32_t kNoReplyFlag = 1u << 4;
inline constexpr uint32_t kErrorFlag = 1u << 5;

struct VersionMessage {
  uint16_t major;
  uint16_t minor;
};

struct DmaMap {
  uint32_t argsz;
  uint32_t flags;   ///< kDmaRead…
  uint64_t offset;  ///< In the file.
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
inline constexpr uint32_t kUnmapAll = 1u << 1;  ///< Address and bytes are 0.

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
  uint64_t offset;  ///< In the file, of a region that may be mapped.
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

/// Bytes of data of one access to a region, and of one message of DMA.
inline constexpr uint32_t kMaxTransferBytes = 1u << 20;
/// Files with one message.
inline constexpr uint32_t kMaxMessageFiles = 8;
/// Of a message that makes sense.
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
