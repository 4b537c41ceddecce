// SPDX-License-Identifier: BSD-3-Clause
//
// Register map and ring formats of the packetized NIC: a descriptor device in the
// manner of Intel's IPU and E810 (one 16-byte descriptor and one host buffer per
// packet segment, completed in place). The layout is Sluice's own; it is shared by
// drivers/net_ipu and lib/device/ipu, and neither may know more about the other
// than what stands here. All multi-byte fields are little-endian.
#pragma once

#include <cstdint>

namespace sluice::regs::ipu {

inline constexpr uint32_t kPageBytes = 4096;
inline constexpr uint32_t kMaxQueues = 16;  ///< Queue pairs; pages 1 … 16, page 0 is the port's.
inline constexpr uint32_t kBarBytes = 32 * kPageBytes;

// ---------------------------------------------------------------- port page

inline constexpr uint32_t kDeviceId = 0x000;  ///< RO: kDeviceIdValue.
inline constexpr uint32_t kDeviceIdValue = 0x19d0'0001;
inline constexpr uint32_t kQueuePairs = 0x004;  ///< RO: queue pairs present.
inline constexpr uint32_t kReset =
    0x008;  ///< WO: kResetMagic returns all but the statistics to power-on state.
inline constexpr uint32_t kResetMagic = 0x7265'7365;
inline constexpr uint32_t kPortControl = 0x00c;  ///< kPort… bits.
inline constexpr uint32_t kMaxFrame = 0x010;     ///< Largest frame received, bytes without FCS.
inline constexpr uint32_t kRssFields = 0x014;    ///< kRss… bits: which fields are hashed.
inline constexpr uint32_t kStationAddress =
    0x018;  ///< 8 bytes; first octet of the MAC address is the lowest.
inline constexpr uint32_t kRssKey =
    0x040;  ///< kRssKeyBytes, first octet lowest; in force with the last word.
inline constexpr uint32_t kRssKeyBytes = 40;
inline constexpr uint32_t kReta =
    0x080;  ///< kRetaEntries bytes, each a queue; indexed by the hash's low bits.
inline constexpr uint32_t kRetaEntries = 128;

/// What a flow rule may match beside the 5-tuple; see kFlowFields.
inline constexpr uint32_t kFlowShape = 0x100;  ///< Outer VLAN id | tags << 16 | fragment << 20.
inline constexpr uint32_t kFlowEtherSource = 0x108;  ///< 8 bytes, as kStationAddress.
inline constexpr uint32_t kFlowEtherDestination = 0x110;
/// A rule that hit no frame for so many seconds has aged: kPortVector tells it. 0: it never does.
inline constexpr uint32_t kFlowAge = 0x118;
inline constexpr uint32_t kFlowCookie = 0x120;  ///< 8 bytes: software's name of a rule with an age.

/// RO: queue pairs that may have an endpoint (kEndpointBlock), from 0 on; 0: this device offers
/// none.
inline constexpr uint32_t kEndpoints = 0x020;

inline constexpr uint32_t kFirmware = 0x024;  ///< RO: major << 16 | minor << 8 | patch.

inline constexpr uint32_t kPortStatus = 0x028;  ///< RO: kPortCarrier.
inline constexpr uint32_t kPortCarrier = 1u << 0;
/// RO, 8 bytes, as kStationAddress: the address that the device was given at its making.
inline constexpr uint32_t kPermanentAddress = 0x030;

/// kPortControl.
inline constexpr uint32_t kPortReceive = 1u << 0;  ///< Off: every frame from the wire is dropped.
inline constexpr uint32_t kPortPromiscuous = 1u << 1;   ///< No address filter.
inline constexpr uint32_t kPortAllMulticast = 1u << 2;  ///< Every group address passes the filter.
inline constexpr uint32_t kPortChecksum = 1u << 3;  ///< Verify IPv4 header, TCP and UDP checksums.
inline constexpr uint32_t kPortIsolate = 1u << 4;  ///< Frames that no flow rule claims are dropped.
inline constexpr uint32_t kPortVlanStrip = 1u << 5;   ///< Rings get frames without their outer tag.
inline constexpr uint32_t kPortVlanFilter = 1u << 6;  ///< kVlanTable is in force.
inline constexpr uint32_t kPortTimesync = 1u << 7;    ///< PTP frames to rings are stamped.

/// kRssFields. With the L4 bit of a packet's kind the hash covers addresses and
/// ports, else with its L3 bit addresses alone, else there is no hash (queue of
/// RETA entry 0). Fragments have no ports.
inline constexpr uint32_t kRssIpv4 = 1u << 0;
inline constexpr uint32_t kRssIpv4Tcp = 1u << 1;
inline constexpr uint32_t kRssIpv4Udp = 1u << 2;
inline constexpr uint32_t kRssIpv6 = 1u << 3;
inline constexpr uint32_t kRssIpv6Tcp = 1u << 4;
inline constexpr uint32_t kRssIpv6Udp = 1u << 5;

// ------------------------------------------------------------ flow commands

/// Software fills key and action, then stores a FlowCommand in kFlowCommand and
/// reads kFlowStatus. The table holds exact matches on the key's selected fields;
/// of several matching rules the one with the most selected fields wins, and of
/// those the one with the higher kFlowFields value.
inline constexpr uint32_t kFlowFields =
    0x140;  ///< kFlow… bits below: the fields that must be equal.
inline constexpr uint32_t kFlowProtocol =
    0x144;  ///< IP version (4, 6) << 8 | IP protocol (17, 6; 0 any).
inline constexpr uint32_t kFlowPorts = 0x148;   ///< Source << 16 | destination, host order.
inline constexpr uint32_t kFlowSource = 0x150;  ///< 16 bytes in wire order; IPv4 uses the first 4.
inline constexpr uint32_t kFlowDestination = 0x160;
inline constexpr uint32_t kFlowAction = 0x170;  ///< kFlowAction… flags | queue.
inline constexpr uint32_t kFlowMark = 0x174;
inline constexpr uint32_t kFlowCommand = 0x178;
inline constexpr uint32_t kFlowStatus = 0x17c;  ///< RO: FlowStatus of the last command.
/// RO, 8 bytes: frames, set by kQuery, kQueryAndClear and kRemove; by kPopAged, the rule's
/// kFlowCookie.
inline constexpr uint32_t kFlowHits = 0x180;
inline constexpr uint32_t kFlowHitBytes = 0x188;  ///< RO, 8 bytes.
inline constexpr uint32_t kMaxFlows = 32768;

inline constexpr uint32_t kFlowMatchSource = 1u << 0;
inline constexpr uint32_t kFlowMatchDestination = 1u << 1;
inline constexpr uint32_t kFlowMatchSourcePort = 1u << 2;
inline constexpr uint32_t kFlowMatchDestinationPort = 1u << 3;
inline constexpr uint32_t kFlowMatchProtocol =
    1u << 4;  ///< The IP protocol; the version always matches.
inline constexpr uint32_t kFlowMatchTuple = (1u << 5) - 1;
inline constexpr uint32_t kFlowMatchTags = 1u << 5;      ///< Number of VLAN tags, 0…2.
inline constexpr uint32_t kFlowMatchVlan = 1u << 6;      ///< Id of the outer tag.
inline constexpr uint32_t kFlowMatchFragment = 1u << 7;  ///< Part of a datagram, or a whole one.
inline constexpr uint32_t kFlowMatchEtherSource = 1u << 8;
inline constexpr uint32_t kFlowMatchEtherDestination = 1u << 9;
inline constexpr uint32_t kFlowMatchAll = (1u << 10) - 1;

inline constexpr uint32_t kFlowShapeVlan = 0xfff;
inline constexpr uint32_t kFlowShapeTagsShift = 16;
inline constexpr uint32_t kFlowShapeTags = 3u << kFlowShapeTagsShift;
inline constexpr uint32_t kFlowShapeFragment = 1u << 20;

inline constexpr uint32_t kFlowActionQueueMask = 0xff;
inline constexpr uint32_t kFlowActionQueue = 1u << 8;  ///< Else RSS decides.
inline constexpr uint32_t kFlowActionDrop = 1u << 9;
inline constexpr uint32_t kFlowActionMark = 1u << 10;  ///< Report kFlowMark in the write-back.
inline constexpr uint32_t kFlowActionFlag = 1u << 11;  ///< Report the hit alone.

enum class FlowCommand : uint32_t {
  kAdd = 1,
  kRemove = 2,
  kQuery = 3,
  kQueryAndClear = 4,
  kFlush = 5,
  kPopAged = 6,  ///< The next rule that has aged and was not told yet; kAbsent: there is none.
};
enum class FlowStatus : uint32_t { kOk = 0, kExists = 1, kAbsent = 2, kFull = 3, kInvalid = 4 };

// --------------------------------------------------------------- statistics

/// 8-byte read-only counters from kStatistics on, in this order. Every frame from
/// the wire is in kStatRxFrames or in one of the drops that follow; every frame
/// that software posts is in kStatTxFrames or in one of the drops after it.
inline constexpr uint32_t kStatistics = 0x200;
enum Statistic : uint32_t {
  kStatRxFrames,  ///< Written to host buffers.
  kStatRxBytes,
  kStatRxNoDescriptor,  ///< The queue had too few posted descriptors.
  kStatRxOversize,      ///< Longer than kMaxFrame, or than the buffer with scatter off.
  kStatRxUndersize,     ///< Shorter than an Ethernet header.
  kStatRxFiltered,      ///< Not for this station, or claimed by no rule under kPortIsolate.
  kStatRxFlowDrop,      ///< A flow rule said so.
  kStatRxDisabled,      ///< Port or queue not enabled.
  kStatRxDmaFault,      ///< A buffer or ring address that the host did not map.
  kStatTxFrames,
  kStatTxBytes,
  kStatTxBadDescriptor,  ///< Lengths or segment chains that make no frame.
  kStatTxDmaFault,
  kStatBadDoorbell,     ///< Tail stores that claim more than the ring holds; ignored.
  kStatRxNoRegion,      ///< A link had no region with room.
  kStatLinkSwaps,       ///< Exchanges of regions that were committed.
  kStatLinkBadEntry,    ///< Entries of a region to send that describe no frame; skipped.
  kStatLinkFaults,      ///< Offers that break the protocol, and memory without a sound link.
  kStatRxNoLine,        ///< An endpoint's lines had no room: its host is slow.
  kStatLineAnswers,     ///< Loads that were answered with frames.
  kStatLineTryAgains,   ///< Loads that waited as long as they may.
  kStatLineBadRecord,   ///< Records of a line that describe no frame; the rest of it is skipped.
  kStatLineRxDiscards,  ///< Frames in a line that no load came for before the endpoint's end.
  kStatLineTxDiscards,  ///< Frames of a line that had come back and not left at that end.
  kStatLineLost,        ///< Frames that a host held in its line when its process was gone.
  kStatLineOrphans,     ///< Frames that came back after a power-on, lent before it; never sent.
  kStatLineFaults,      ///< Loads that break the protocol, and memory without a sound endpoint.
  kStatisticCount,
};
inline constexpr const char* kStatisticNames[kStatisticCount] = {
    "rx_frames",      "rx_bytes",          "rx_no_descriptor", "rx_oversize",      "rx_undersize",
    "rx_filtered",    "rx_flow_drop",      "rx_disabled",      "rx_dma_faults",    "tx_frames",
    "tx_bytes",       "tx_bad_descriptor", "tx_dma_faults",    "bad_doorbell",     "rx_no_region",
    "link_swaps",     "link_bad_entries",  "link_faults",      "rx_no_line",       "line_answers",
    "line_tryagains", "line_bad_records",  "line_rx_discards", "line_tx_discards", "line_lost",
    "line_orphans",   "line_faults"};
constexpr uint32_t StatisticRegister(uint32_t index) { return kStatistics + 8 * index; }

// --------------------------------------------------------------- queue pages

/// A queue pair's page: RX registers at kRxBlock, TX registers at kTxBlock; instead of
/// rings it may have a link of swapped regions, with registers at kLinkBlock, or an endpoint
/// of cache lines, with registers at kEndpointBlock.
constexpr uint32_t QueuePage(uint32_t queue) { return (1 + queue) * kPageBytes; }
inline constexpr uint32_t kRxBlock = 0x000;
inline constexpr uint32_t kTxBlock = 0x100;
inline constexpr uint32_t kLinkBlock = 0x200;
inline constexpr uint32_t kEndpointBlock = 0x300;

/// Offsets within a block. Base, entries and buffer size are read when the queue
/// is enabled. Head and tail are free-running counts of descriptors, masked by the
/// ring size on use; both are zero when a queue is enabled.
inline constexpr uint32_t kRingBase = 0x00;     ///< 8 bytes: bus address, 64-byte aligned.
inline constexpr uint32_t kRingEntries = 0x08;  ///< Power of two, kMinRing … kMaxRing.
inline constexpr uint32_t kRingBuffer = 0x0c;   ///< RX: room behind every posted address, bytes.
inline constexpr uint32_t kRingControl =
    0x10;  ///< kRing… bits. Disabling takes effect before the next read.
inline constexpr uint32_t kRingStatus = 0x14;  ///< RO: 1 enabled, 0 not, or refused.
inline constexpr uint32_t kRingHead = 0x18;    ///< RO: descriptors completed by the device.
inline constexpr uint32_t kRingTail = 0x20;    ///< Doorbell: descriptors posted by software.
/// WO, 8 bytes, RX: kRingInterruptArm and the low 32 bits of kRingHead that software has seen. The
/// queue's vector is raised once, as soon as the device has completed others. 0 takes it back.
inline constexpr uint32_t kRingInterrupt = 0x28;
inline constexpr uint64_t kRingInterruptArm = uint64_t{1} << 32;

inline constexpr uint32_t kRingEnable = 1u << 0;
inline constexpr uint32_t kRingScatter = 1u << 1;  ///< RX: a frame may span buffers.
/// RX: posted addresses are kStampBytes in front of kRingBuffer bytes; there the first buffer of a
/// frame has kClock as it arrived.
inline constexpr uint32_t kRingStamp = 1u << 2;
inline constexpr uint32_t kStampBytes = 8;

inline constexpr uint32_t kMinRing = 64;
inline constexpr uint32_t kMaxRing = 4096;
inline constexpr uint32_t kDescriptorBytes = 16;  ///< Four fill a cache line.
inline constexpr uint32_t kMinBuffer = 128;
inline constexpr uint32_t kMaxFrameBytes = 9728;
inline constexpr uint32_t kMinFrameBytes = 14;
inline constexpr uint32_t kMaxSegments = 40;  ///< TX descriptors of one frame.

/// Offsets within kLinkBlock. The link's memory is laid out as swap/link_memory.h says;
/// the device looks for a sound link there when it is enabled. Enabling a link that is
/// enabled begins a new epoch; a queue pair whose rings are enabled refuses a link, and
/// the other way round.
inline constexpr uint32_t kLinkBase = 0x00;     ///< 8 bytes: bus address, 4096-byte aligned.
inline constexpr uint32_t kLinkBytes = 0x08;    ///< 8 bytes: size of the memory.
inline constexpr uint32_t kLinkEpoch = 0x10;    ///< Low 16 bits; read when the link is enabled.
inline constexpr uint32_t kLinkControl = 0x14;  ///< kLinkEnable, or 0.
inline constexpr uint32_t kLinkStatus = 0x18;   ///< RO: 1 enabled, 0 not, or refused.
inline constexpr uint32_t kLinkEnable = 1u << 0;

/// Offsets within kEndpointBlock. The endpoint's memory is laid out as coherent/layout.h says,
/// for frames (coherent/frames.h); the device looks for a sound one there when it is enabled. A
/// queue pair with rings or a link refuses an endpoint, and the other way round.
inline constexpr uint32_t kEndpointBase = 0x00;     ///< 8 bytes: bus address, 4096-byte aligned.
inline constexpr uint32_t kEndpointBytes = 0x08;    ///< 8 bytes: size of the memory.
inline constexpr uint32_t kEndpointControl = 0x10;  ///< kEndpointEnable, or 0.
inline constexpr uint32_t kEndpointStatus = 0x14;   ///< RO: 1 enabled, 0 not, or refused.
inline constexpr uint32_t kEndpointEnable = 1u << 0;

/// A descriptor is two 8-byte words. Whoever hands it over stores `low` first and
/// `high` last (release): the done bit covers both words.
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

inline constexpr uint16_t kRxTag = 1u << 0;  ///< The write-back holds the frame's outer tag,
inline constexpr uint16_t kRxHashValid = 1u << 1;
inline constexpr uint16_t kRxFlowHit = 1u << 2;  ///< A rule that flags or marks matched.
inline constexpr uint16_t kRxL4Bad = 1u << 3;
inline constexpr uint16_t kRxIpBad = 1u << 4;
inline constexpr uint16_t kRxTagStripped = 1u << 6;  ///< and the frame does not.
inline constexpr uint16_t kRxIpGood = 1u << 7;
inline constexpr uint16_t kRxL4Good = 1u << 8;
inline constexpr uint16_t kRxPtp = 1u << 9;         ///< IEEE 1588 over Ethernet.
inline constexpr uint16_t kRxStamped = 1u << 10;    ///< kRxStamp is this frame's.
inline constexpr uint16_t kRxMarkValid = 1u << 13;  ///< With kRxFlowHit: the rule marks.

/// With kRxTag the tag's 16 bits lie where there is room: 14 of them from bit 48 of `high` on, the
/// upper two from bit 27 on.
constexpr uint64_t RxTagBits(uint16_t tag) {
  return uint64_t{tag & 0x3fffu} << 48 | uint64_t{tag & 0xc000u} << 13;
}
constexpr uint16_t RxTagOf(uint64_t high) {
  return static_cast<uint16_t>((high >> 48 & 0x3fff) | (high >> 27 & 3) << 14);
}

/// Packet class: one code of each group, OR-ed; kClassMask has them all.
inline constexpr uint16_t kClassMask = 0x7ff;
inline constexpr uint16_t kClassEther = 0x001;
inline constexpr uint16_t kClassArp = 0x003;
inline constexpr uint16_t kClassVlan = 0x006;  ///< The outer tag's EtherType is 0x8100.
inline constexpr uint16_t kClassQinq = 0x007;  ///< It is 0x88a8.
inline constexpr uint16_t kClassIpv4 = 0x010;
inline constexpr uint16_t kClassIpv4Options = 0x030;
inline constexpr uint16_t kClassIpv6 = 0x040;
inline constexpr uint16_t kClassIpv6Extension = 0x0c0;
inline constexpr uint16_t kClassTransport = 0x700;  ///< The group of the following.
inline constexpr uint16_t kClassTcp = 0x100;
inline constexpr uint16_t kClassUdp = 0x200;
inline constexpr uint16_t kClassFragment = 0x300;
inline constexpr uint16_t kClassSctp = 0x400;
inline constexpr uint16_t kClassIcmp = 0x500;
inline constexpr uint16_t kClassOtherL4 = 0x600;

/// TX, posted: `low` is the segment's bus address,
///   high bits  0…15 bytes in this segment
///                16 kTxEndOfPacket: last segment of its frame
///                17 kTxReport: write kDone back when the frame has left
///                18 kTxIpChecksum   (first segment decides, as for 19 … 63)
///                19 kTxL4Checksum: the field holds the pseudo-header's sum
///                20 kTxTag: insert an 802.1Q tag behind the addresses
///                21 kTxStamp: keep the time in kTxStampTime
///                22 kTxSegment: cut it into TCP segments; 20 is not set then, and 18 and 19 are
///                   taken for set. kTxStamp does not count
///             24…31 offset of the IP header
///             32…39 bytes of the IP header
///             40…47 offset of the checksum field in the L4 header, or bytes of the TCP header
///             48…63 the tag, or payload bytes of a segment: at least kMinSegmentBytes
/// TX, written back where kTxReport was set: `high` is kDone.
inline constexpr uint64_t kTxEndOfPacket = uint64_t{1} << 16;
inline constexpr uint64_t kTxReport = uint64_t{1} << 17;
inline constexpr uint64_t kTxIpChecksum = uint64_t{1} << 18;
inline constexpr uint64_t kTxL4Checksum = uint64_t{1} << 19;
inline constexpr uint64_t kTxTag = uint64_t{1} << 20;
inline constexpr uint64_t kTxStamp = uint64_t{1} << 21;
inline constexpr uint64_t kTxSegment = uint64_t{1} << 22;
inline constexpr uint32_t kMinSegmentBytes = 64;
/// Of a frame that is cut: an IP datagram of 64 KiB behind an Ethernet header.
inline constexpr uint32_t kMaxLargeFrameBytes = 65535 + kMinFrameBytes;
inline constexpr uint32_t kTxIpOffsetShift = 24;
inline constexpr uint32_t kTxIpLengthShift = 32;
inline constexpr uint32_t kTxL4FieldShift = 40;
inline constexpr uint32_t kTxTagShift = 48;

}  // namespace sluice::regs::ipu
