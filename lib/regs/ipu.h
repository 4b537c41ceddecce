// SPDX-License-Identifier: BSD-3-Clause
//
// Register map and ring formats of the packetized NIC: a descriptor device similar to Intel's IPU
// and E810 (one 16-byte descriptor and one host buffer per packet segment, completed in place).
// Sluice defines the layout itself. This file is the only interface between drivers/net_ipu and
// lib/device/ipu. All multi-byte fields are little-endian.
#pragma once

#include <cstdint>

#include "base/counter_rows.h"

namespace sluice::regs::ipu {

inline constexpr uint32_t kPageBytes = 4096;
inline constexpr uint32_t kMaxQueues = 16;  ///< Queue pairs: pages 1 … 16. Page 0 is the port page.
inline constexpr uint32_t kBarBytes = 32 * kPageBytes;

// ---------------------------------------------------------------- port page

inline constexpr uint32_t kDeviceId = 0x000;  ///< RO: kDeviceIdValue.
inline constexpr uint32_t kDeviceIdValue = 0x19d0'0001;
inline constexpr uint32_t kQueuePairs = 0x004;  ///< RO: number of queue pairs.
/// WO: kResetMagic resets everything except the statistics to its power-on state.
inline constexpr uint32_t kReset = 0x008;
inline constexpr uint32_t kResetMagic = 0x7265'7365;
inline constexpr uint32_t kPortControl = 0x00c;  ///< kPort… bits.
inline constexpr uint32_t kMaxFrame = 0x010;     ///< Longest received frame in bytes, without FCS.
inline constexpr uint32_t kRssFields = 0x014;    ///< kRss… bits that select the hashed fields.
/// 8 bytes; the first octet of the MAC address is in the lowest byte.
inline constexpr uint32_t kStationAddress = 0x018;
/// kRssKeyBytes bytes, first octet lowest. The key takes effect when its last word is stored.
inline constexpr uint32_t kRssKey = 0x040;
inline constexpr uint32_t kRssKeyBytes = 40;
/// kRetaEntries bytes. Each is a queue number; the low bits of the hash select the byte.
inline constexpr uint32_t kReta = 0x080;
inline constexpr uint32_t kRetaEntries = 128;

/// Fields that a flow rule can match in addition to the 5-tuple; see kFlowFields.
inline constexpr uint32_t kFlowShape = 0x100;  ///< Outer VLAN id | tags << 16 | fragment << 20.
inline constexpr uint32_t kFlowEtherSource = 0x108;  ///< 8 bytes, in the format of kStationAddress.
inline constexpr uint32_t kFlowEtherDestination = 0x110;
/// A rule has aged after this many seconds without a hit, which is reported through kPortVector. 0
/// means never.
inline constexpr uint32_t kFlowAge = 0x118;
inline constexpr uint32_t kFlowCookie = 0x120;  ///< 8 bytes: software's id for a rule with an age.

/// RO: number of queue pairs, starting at 0, that can have an endpoint (kEndpointBlock). 0 if the
/// device does not support endpoints.
inline constexpr uint32_t kEndpoints = 0x020;

inline constexpr uint32_t kFirmware = 0x024;  ///< RO: major << 16 | minor << 8 | patch.

inline constexpr uint32_t kPortStatus = 0x028;  ///< RO: kPortCarrier.
inline constexpr uint32_t kPortCarrier = 1u << 0;
/// RO, 8 bytes, in the format of kStationAddress: the address that was assigned to the device when
/// it was created.
inline constexpr uint32_t kPermanentAddress = 0x030;
inline constexpr uint32_t kTransport = 0x038;  ///< Register of the transport unit (transport.h).

/// Bits of kPortControl:
inline constexpr uint32_t kPortReceive = 1u << 0;       ///< If clear, drops frames from the wire.
inline constexpr uint32_t kPortPromiscuous = 1u << 1;   ///< Disables the address filter.
inline constexpr uint32_t kPortAllMulticast = 1u << 2;  ///< All group addresses pass the filter.
inline constexpr uint32_t kPortChecksum = 1u << 3;   ///< Verify IPv4 header, TCP and UDP checksums.
inline constexpr uint32_t kPortIsolate = 1u << 4;    ///< Drop frames that match no flow rule.
inline constexpr uint32_t kPortVlanStrip = 1u << 5;  ///< Remove the outer tag of frames to rings.
inline constexpr uint32_t kPortVlanFilter = 1u << 6;  ///< Enable kVlanTable.
inline constexpr uint32_t kPortTimesync = 1u << 7;    ///< Timestamp PTP frames passed to rings.

/// Bits of kRssFields. If the L4 bit for the packet's type is set, the hash covers addresses and
/// ports. Otherwise, if its L3 bit is set, the hash covers only the addresses. Otherwise the packet
/// has no hash and goes to the queue in RETA entry 0. Fragments have no ports.
inline constexpr uint32_t kRssIpv4 = 1u << 0;
inline constexpr uint32_t kRssIpv4Tcp = 1u << 1;
inline constexpr uint32_t kRssIpv4Udp = 1u << 2;
inline constexpr uint32_t kRssIpv6 = 1u << 3;
inline constexpr uint32_t kRssIpv6Tcp = 1u << 4;
inline constexpr uint32_t kRssIpv6Udp = 1u << 5;

// ------------------------------------------------------------ flow commands

/// Software writes the key and action, then stores a FlowCommand in kFlowCommand and reads
/// kFlowStatus. The table contains exact matches on the selected fields of the key. If several
/// rules match, the one with the most selected fields applies, and among these the one with the
/// highest kFlowFields value.
inline constexpr uint32_t kFlowFields = 0x140;  ///< kFlow… bits below: the fields to compare.
/// IP version (4 or 6) << 8 | IP protocol (17, 6, or 0 for any).
inline constexpr uint32_t kFlowProtocol = 0x144;
inline constexpr uint32_t kFlowPorts = 0x148;   ///< Source << 16 | destination, in host order.
inline constexpr uint32_t kFlowSource = 0x150;  ///< 16 bytes in wire order; IPv4 uses the first 4.
inline constexpr uint32_t kFlowDestination = 0x160;
inline constexpr uint32_t kFlowAction = 0x170;  ///< kFlowAction… flags | queue.
inline constexpr uint32_t kFlowMark = 0x174;
inline constexpr uint32_t kFlowCommand = 0x178;
inline constexpr uint32_t kFlowStatus = 0x17c;  ///< RO: FlowStatus of the last command.
/// RO, 8 bytes. kQuery, kQueryAndClear and kRemove set it to the number of frames, and kPopAged to
/// the rule's kFlowCookie.
inline constexpr uint32_t kFlowHits = 0x180;
inline constexpr uint32_t kFlowHitBytes = 0x188;  ///< RO, 8 bytes.
inline constexpr uint32_t kMaxFlows = 32768;

inline constexpr uint32_t kFlowMatchSource = 1u << 0;
inline constexpr uint32_t kFlowMatchDestination = 1u << 1;
inline constexpr uint32_t kFlowMatchSourcePort = 1u << 2;
inline constexpr uint32_t kFlowMatchDestinationPort = 1u << 3;
inline constexpr uint32_t kFlowMatchProtocol =
    1u << 4;  ///< The IP protocol. The version is always compared.
inline constexpr uint32_t kFlowMatchTuple = (1u << 5) - 1;
inline constexpr uint32_t kFlowMatchTags = 1u << 5;      ///< Number of VLAN tags, 0…2.
inline constexpr uint32_t kFlowMatchVlan = 1u << 6;      ///< Id of the outer tag.
inline constexpr uint32_t kFlowMatchFragment = 1u << 7;  ///< Whether the frame is a fragment.
inline constexpr uint32_t kFlowMatchEtherSource = 1u << 8;
inline constexpr uint32_t kFlowMatchEtherDestination = 1u << 9;
inline constexpr uint32_t kFlowMatchAll = (1u << 10) - 1;

inline constexpr uint32_t kFlowShapeVlan = 0xfff;
inline constexpr uint32_t kFlowShapeTagsShift = 16;
inline constexpr uint32_t kFlowShapeTags = 3u << kFlowShapeTagsShift;
inline constexpr uint32_t kFlowShapeFragment = 1u << 20;

inline constexpr uint32_t kFlowActionQueueMask = 0xff;
inline constexpr uint32_t kFlowActionQueue = 1u << 8;  ///< If clear, RSS selects the queue.
inline constexpr uint32_t kFlowActionDrop = 1u << 9;
inline constexpr uint32_t kFlowActionMark = 1u << 10;  ///< Report kFlowMark in the write-back.
inline constexpr uint32_t kFlowActionFlag = 1u << 11;  ///< Report the hit without a mark.

enum class FlowCommand : uint32_t {
  kAdd = 1,
  kRemove = 2,
  kQuery = 3,
  kQueryAndClear = 4,
  kFlush = 5,
  kPopAged = 6,  ///< Reports the next unreported aged rule. The status is kAbsent if there is none.
};
enum class FlowStatus : uint32_t { kOk = 0, kExists = 1, kAbsent = 2, kFull = 3, kInvalid = 4 };

// --------------------------------------------------------------- statistics

/// 8-byte read-only counters at kStatistics, in this order. Every frame from the wire is counted in
/// kStatRxFrames or in one of the drop counters after it. Every frame that software posts is
/// counted in kStatTxFrames or in one of the drop counters after it.
inline constexpr uint32_t kStatistics = 0x200;
enum Statistic : uint32_t {
  kStatRxFrames,  ///< Written to host buffers.
  kStatRxBytes,
  kStatRxNoDescriptor,  ///< The queue had too few posted descriptors.
  kStatRxOversize,      ///< Longer than kMaxFrame, or than the buffer if scatter is off.
  kStatRxUndersize,     ///< Shorter than an Ethernet header.
  kStatRxFiltered,      ///< Not for this station, or no rule matches while kPortIsolate is set.
  kStatRxFlowDrop,      ///< Dropped by a flow rule.
  kStatRxDisabled,      ///< Port or queue disabled.
  kStatRxDmaFault,      ///< A buffer or ring address was not mapped by the host.
  kStatTxFrames,
  kStatTxBytes,
  kStatTxBadDescriptor,  ///< Lengths or segment chains did not form a valid frame.
  kStatTxDmaFault,
  kStatBadDoorbell,     ///< Tail stores that exceed the ring size, which are ignored.
  kStatRxNoRegion,      ///< All regions of a link were full.
  kStatLinkSwaps,       ///< Committed swaps of regions.
  kStatLinkBadEntry,    ///< Invalid entries in a region to send; the entries are skipped.
  kStatLinkFaults,      ///< Offers that violate the protocol, and link memory that is invalid.
  kStatRxNoLine,        ///< An endpoint's lines were full because its host was slow.
  kStatLineAnswers,     ///< Loads answered with frames.
  kStatLineTryAgains,   ///< Loads answered because their time limit expired.
  kStatLineBadRecord,   ///< Invalid records in a line. An invalid head ends the line.
  kStatLineRxDiscards,  ///< Frames in lines that were not loaded before the endpoint ended.
  kStatLineTxDiscards,  ///< Frames in returned lines that were not sent before the endpoint ended.
  kStatLineLost,        ///< Frames in a host's line when the host process ended.
  kStatLineOrphans,     ///< Frames passed to a host before a power-on and returned after it; never
                        ///< sent.
  kStatLineFaults,      ///< Loads that violate the protocol, and endpoint memory that is invalid.
  kStatisticCount,
};
inline constexpr auto kStatisticRows = base::CounterRows<Statistic, kStatisticCount>(
    {{kStatRxFrames, "rx_frames"},
     {kStatRxBytes, "rx_bytes"},
     {kStatRxNoDescriptor, "rx_no_descriptor", base::Dropped::kNic},
     {kStatRxOversize, "rx_oversize", base::Dropped::kNic},
     {kStatRxUndersize, "rx_undersize", base::Dropped::kNic},
     {kStatRxFiltered, "rx_filtered", base::Dropped::kRule},
     {kStatRxFlowDrop, "rx_flow_drop", base::Dropped::kRule},
     {kStatRxDisabled, "rx_disabled", base::Dropped::kNic},
     {kStatRxDmaFault, "rx_dma_faults", base::Dropped::kNic},
     {kStatTxFrames, "tx_frames"},
     {kStatTxBytes, "tx_bytes"},
     {kStatTxBadDescriptor, "tx_bad_descriptor", base::Dropped::kHost},
     {kStatTxDmaFault, "tx_dma_faults", base::Dropped::kHost},
     {kStatBadDoorbell, "bad_doorbell"},
     {kStatRxNoRegion, "rx_no_region", base::Dropped::kNic},
     {kStatLinkSwaps, "link_swaps"},
     {kStatLinkBadEntry, "link_bad_entries", base::Dropped::kHost},
     {kStatLinkFaults, "link_faults"},
     {kStatRxNoLine, "rx_no_line", base::Dropped::kNic},
     {kStatLineAnswers, "line_answers"},
     {kStatLineTryAgains, "line_tryagains"},
     {kStatLineBadRecord, "line_bad_records", base::Dropped::kHost},
     {kStatLineRxDiscards, "line_rx_discards", base::Dropped::kHost},
     {kStatLineTxDiscards, "line_tx_discards", base::Dropped::kHost},
     {kStatLineLost, "line_lost", base::Dropped::kHost},
     {kStatLineOrphans, "line_orphans", base::Dropped::kHost},
     {kStatLineFaults, "line_faults"}});
inline constexpr auto kStatisticNames = base::NamesOf(kStatisticRows);
constexpr uint32_t StatisticRegister(uint32_t index) { return kStatistics + 8 * index; }

// --------------------------------------------------------------- queue pages

/// Returns the offset of a queue pair's page, with RX registers at kRxBlock and TX registers at
/// kTxBlock. Instead of rings, a queue pair may have a link of swapped regions, with registers at
/// kLinkBlock, or an endpoint of cache lines, with registers at kEndpointBlock.
constexpr uint32_t QueuePage(uint32_t queue) { return (1 + queue) * kPageBytes; }
inline constexpr uint32_t kRxBlock = 0x000;
inline constexpr uint32_t kTxBlock = 0x100;
inline constexpr uint32_t kLinkBlock = 0x200;
inline constexpr uint32_t kEndpointBlock = 0x300;

/// Offsets within a block. The device reads the base, the number of entries and the buffer size
/// when the queue is enabled. Head and tail are free-running descriptor counts, masked by the ring
/// size on use. Both are zero when a queue is enabled.
inline constexpr uint32_t kRingBase = 0x00;     ///< 8 bytes: bus address, 64-byte aligned.
inline constexpr uint32_t kRingEntries = 0x08;  ///< Power of two, kMinRing … kMaxRing.
inline constexpr uint32_t kRingBuffer = 0x0c;   ///< RX: size in bytes of every posted buffer.
/// kRing… bits. After software has cleared kRingEnable, the ring is disabled before the next
/// register read returns.
inline constexpr uint32_t kRingControl = 0x10;
inline constexpr uint32_t kRingStatus = 0x14;  ///< RO: 1 if enabled, 0 if disabled or rejected.
inline constexpr uint32_t kRingHead = 0x18;    ///< RO: number of descriptors that are completed.
inline constexpr uint32_t kRingTail = 0x20;    ///< Doorbell: number of descriptors posted.
/// WO, 8 bytes, RX: kRingInterruptArm and the low 32 bits of the kRingHead up to which software has
/// processed descriptors. The queue's vector is raised once, as soon as the device has completed
/// further descriptors. 0 disarms the interrupt.
inline constexpr uint32_t kRingInterrupt = 0x28;
inline constexpr uint64_t kRingInterruptArm = uint64_t{1} << 32;

inline constexpr uint32_t kRingEnable = 1u << 0;
inline constexpr uint32_t kRingScatter = 1u << 1;  ///< RX: a frame may span buffers.
/// RX: a posted buffer has kStampBytes before its kRingBuffer bytes. In a frame's first buffer, the
/// device stores there the value of kClock when the frame arrived.
inline constexpr uint32_t kRingStamp = 1u << 2;
inline constexpr uint32_t kStampBytes = 8;

inline constexpr uint32_t kMinRing = 64;
inline constexpr uint32_t kMaxRing = 4096;
inline constexpr uint32_t kDescriptorBytes = 16;  ///< Four descriptors fill a cache line.
inline constexpr uint32_t kMinBuffer = 128;
inline constexpr uint32_t kMaxFrameBytes = 9728;
inline constexpr uint32_t kMinFrameBytes = 14;
inline constexpr uint32_t kMaxSegments = 40;  ///< Maximum number of TX descriptors per frame.

/// Offsets within kLinkBlock. swap/link_memory.h defines the layout of the link memory, which the
/// device checks when the link is enabled. Enabling an enabled link begins a new epoch. A queue
/// pair with enabled rings rejects a link, and vice versa.
inline constexpr uint32_t kLinkBase = 0x00;     ///< 8 bytes: bus address, 4096-byte aligned.
inline constexpr uint32_t kLinkBytes = 0x08;    ///< 8 bytes: size of the memory.
inline constexpr uint32_t kLinkEpoch = 0x10;    ///< Low 16 bits; read when the link is enabled.
inline constexpr uint32_t kLinkControl = 0x14;  ///< kLinkEnable, or 0.
inline constexpr uint32_t kLinkStatus = 0x18;   ///< RO: 1 if enabled, 0 if disabled or rejected.
inline constexpr uint32_t kLinkEnable = 1u << 0;

/// Offsets within kEndpointBlock. coherent/layout.h defines the layout of the endpoint memory,
/// which the device checks when the endpoint is enabled. The lines contain frames in the format of
/// coherent/frames.h. A queue pair with rings or a link rejects an endpoint, and vice versa.
inline constexpr uint32_t kEndpointBase = 0x00;     ///< 8 bytes: bus address, 4096-byte aligned.
inline constexpr uint32_t kEndpointBytes = 0x08;    ///< 8 bytes: size of the memory.
inline constexpr uint32_t kEndpointControl = 0x10;  ///< kEndpointEnable, or 0.
inline constexpr uint32_t kEndpointStatus = 0x14;   ///< RO: 1 if enabled; 0 if not, or rejected.
inline constexpr uint32_t kEndpointEnable = 1u << 0;

/// A descriptor is two 8-byte words. The side that passes it on stores `low` first and `high` last
/// (release), so that the done bit covers both words.
struct alignas(16) Descriptor {
  uint64_t low;
  uint64_t high;
};
static_assert(sizeof(Descriptor) == kDescriptorBytes);

/// RX, posted: `low` is the buffer's bus address, `high` is 0.
/// RX, written back (one per segment; hash, mark, class and flags on the first):
///   low  bits  0…31 hash, 32…63 mark of the flow rule
///   high bits  0…15 bytes in this segment
///             16…31 packet class
///             32…47 kRx… flags
///                62 kRxEndOfPacket
///                63 kDone
inline constexpr uint64_t kDone = uint64_t{1} << 63;
inline constexpr uint64_t kRxEndOfPacket = uint64_t{1} << 62;
inline constexpr uint32_t kRxMarkShift = 32;
inline constexpr uint32_t kRxClassShift = 16;
inline constexpr uint32_t kRxFlagsShift = 32;

inline constexpr uint16_t kRxTag = 1u << 0;  ///< The write-back contains the frame's outer tag.
inline constexpr uint16_t kRxHashValid = 1u << 1;
inline constexpr uint16_t kRxFlowHit = 1u << 2;  ///< A rule with a flag or mark matched.
inline constexpr uint16_t kRxL4Bad = 1u << 3;
inline constexpr uint16_t kRxIpBad = 1u << 4;
inline constexpr uint16_t kRxTagStripped = 1u << 6;  ///< The tag was removed from the frame.
inline constexpr uint16_t kRxIpGood = 1u << 7;
inline constexpr uint16_t kRxL4Good = 1u << 8;
inline constexpr uint16_t kRxPtp = 1u << 9;         ///< IEEE 1588 over Ethernet.
inline constexpr uint16_t kRxStamped = 1u << 10;    ///< kRxStamp belongs to this frame.
inline constexpr uint16_t kRxMarkValid = 1u << 13;  ///< The rule has a mark; only with kRxFlowHit.

/// If kRxTag is set, the 16-bit tag is in otherwise unused bits of `high`: the lower 14 bits from
/// bit 48 on, the upper two from bit 27 on.
constexpr uint64_t RxTagBits(uint16_t tag) {
  return uint64_t{tag & 0x3fffu} << 48 | uint64_t{tag & 0xc000u} << 13;
}
constexpr uint16_t RxTagOf(uint64_t high) {
  return static_cast<uint16_t>((high >> 48 & 0x3fff) | (high >> 27 & 3) << 14);
}

/// Packet class: one code from each group, ORed together. kClassMask covers all groups.
inline constexpr uint16_t kClassMask = 0x7ff;
inline constexpr uint16_t kClassEther = 0x001;
inline constexpr uint16_t kClassArp = 0x003;
inline constexpr uint16_t kClassVlan = 0x006;  ///< The outer tag's EtherType is 0x8100.
inline constexpr uint16_t kClassQinq = 0x007;  ///< The outer tag's EtherType is 0x88a8.
inline constexpr uint16_t kClassIpv4 = 0x010;
inline constexpr uint16_t kClassIpv4Options = 0x030;
inline constexpr uint16_t kClassIpv6 = 0x040;
inline constexpr uint16_t kClassIpv6Extension = 0x0c0;
inline constexpr uint16_t kClassTransport = 0x700;  ///< Mask of the group that follows.
inline constexpr uint16_t kClassTcp = 0x100;
inline constexpr uint16_t kClassUdp = 0x200;
inline constexpr uint16_t kClassFragment = 0x300;
inline constexpr uint16_t kClassSctp = 0x400;
inline constexpr uint16_t kClassIcmp = 0x500;
inline constexpr uint16_t kClassOtherL4 = 0x600;

/// TX, posted: `low` is the segment's bus address,
///   high bits  0…15 bytes in this segment
///                16 kTxEndOfPacket: last segment of its frame
///                17 kTxReport: write back kDone when the frame has been sent
///                18 kTxIpChecksum   (the first segment decides, as for 19 … 63)
///                19 kTxL4Checksum: the field contains the pseudo-header's sum
///                20 kTxTag: insert an 802.1Q tag after the addresses
///                21 kTxStamp: store the time in kTxStampTime
///                22 kTxSegment: split into TCP segments; 20 must be clear, 18 and 19 are
///                   implied, kTxStamp is ignored
///             24…31 offset of the IP header
///             32…39 bytes of the IP header
///             40…47 offset of the checksum field in the L4 header, or bytes of the TCP header
///             48…63 the tag, or payload bytes of a segment: at least kMinSegmentBytes
/// TX, written back if kTxReport was set: `high` is kDone.
inline constexpr uint64_t kTxEndOfPacket = uint64_t{1} << 16;
inline constexpr uint64_t kTxReport = uint64_t{1} << 17;
inline constexpr uint64_t kTxIpChecksum = uint64_t{1} << 18;
inline constexpr uint64_t kTxL4Checksum = uint64_t{1} << 19;
inline constexpr uint64_t kTxTag = uint64_t{1} << 20;
inline constexpr uint64_t kTxStamp = uint64_t{1} << 21;
inline constexpr uint64_t kTxSegment = uint64_t{1} << 22;
inline constexpr uint32_t kMinSegmentBytes = 64;
/// Maximum size in bytes of a frame with kTxSegment: an Ethernet header and an IP datagram of 64
/// KiB.
inline constexpr uint32_t kMaxLargeFrameBytes = 65535 + kMinFrameBytes;
inline constexpr uint32_t kTxIpOffsetShift = 24;
inline constexpr uint32_t kTxIpLengthShift = 32;
inline constexpr uint32_t kTxL4FieldShift = 40;
inline constexpr uint32_t kTxTagShift = 48;

}  // namespace sluice::regs::ipu
