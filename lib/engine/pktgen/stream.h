// SPDX-License-Identifier: BSD-3-Clause
//
// What a stream sends: headers field by field, sizes, rate and time. Pure descriptions, and the
// frames that are made of them. Main thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/pktgen/departures.h"
#include "engine/pktgen/field.h"
#include "engine/pktgen/frame_set.h"
#include "engine/pktgen/rate.h"
#include "engine/workload/schedule.h"
#include "packet/ethernet.h"

namespace sluice::engine::pktgen {

/// Sizes count the FCS, as RFC 2544 does.
inline constexpr uint32_t kMinSize = 64;
inline constexpr uint32_t kMaxSize = 1518;
/// Streams of one run.
inline constexpr size_t kMaxStreams = 64;
/// Times that a capture is sent.
inline constexpr uint64_t kMaxLoops = uint64_t{1} << 40;

struct VlanTag {
  Field id = 1;  ///< 0 … 4095.
  uint8_t priority = 0;
  uint16_t ethertype = packet::kEtherTypeVlan;
};

/// Ethernet, tags, IP and what is above it.
struct HeaderSpec {
  Field destination_mac = Field::Value{0x0200'0000'0001};
  Field source_mac = Field::Value{0x0253'6c67'656e};
  std::vector<VlanTag> tags;  ///< The outer one first; at most two.

  uint8_t ip_version = 4;  ///< 4 or 6.
  Field source = Field::Value{0x0a00'0001};
  Field destination = Field::Value{0xc612'0001};  // 198.18.0.1, of RFC 2544's own range.
  Field service = 0;                              ///< Type of service, or traffic class.
  uint8_t hops = 64;                              ///< TTL, or hop limit.

  uint8_t protocol = packet::kProtocolUdp;  ///< Or TCP, or ICMP (ICMPv6 over IPv6: echo requests).
  Field source_port = 1024;                 ///< ICMP: the identifier.
  Field destination_port = 9;               ///< UDP's and TCP's discard.
  uint8_t tcp_flags = 0x10;                 ///< ACK.

  uint32_t bytes() const;
  /// All fields, for their cycles.
  std::vector<const Field*> fields() const;
};

/// A frame in a UDP datagram over IPv4: RFC 7348.
struct VxlanSpec {
  static constexpr uint16_t kPort = 4789;
  HeaderSpec outer;   ///< IPv4 and UDP.
  Field network = 1;  ///< VNI, 0 … 2^24 - 1.
};

/// What a capture had that is not sent as it was; frames.
struct CaptureNotes {
  uint64_t oversize = 0;    ///< Longer than kMaxSize: left out.
  uint64_t snapped = 0;     ///< Cut by the snap length: zeros stand for what is missing.
  uint64_t steps_back = 0;  ///< Stamped before the frame in front of them, with which they leave.
  uint64_t jumps = 0;       ///< Stamped by a clock that was set: they leave with the one in front.
};

struct StreamSpec {
  std::string name = "default";
  HeaderSpec headers;
  std::optional<VxlanSpec> vxlan;
  /// Bytes with FCS, of the whole frame.
  Field sizes = kMinSize;
  uint64_t seed = 1;  ///< Of the payload.

  /// In order, without overlap.
  std::vector<Phase> phases = {Phase{0, kNever, {Rate::Unit::kPackets, 1e6}}};
  workload::Arrivals arrivals = workload::Arrivals::kConstant;
  uint64_t frames = 0;  ///< After so many it is over; 0: never.

  /// Frames of all workers, instead of headers and sizes: a capture's, or made before; with the
  /// times of a capture, instead of phases, unless null.
  std::shared_ptr<const FrameSet> captured;
  std::shared_ptr<const Offsets> offsets;
  std::optional<CaptureNotes> notes;  ///< Of a capture.

  /// Bytes of headers up to the payload.
  uint32_t header_bytes() const;
  /// The least size: headers, a payload byte that an echo may change, and the tag.
  uint32_t least_size() const;
};

/// All frames of a stream, of headers or of a capture. Null, with the fix in `error`, if it would
/// take more than 2^22 frames or 1 GiB, or sizes are too small.
std::shared_ptr<const FrameSet> BuildFrames(const StreamSpec& spec, std::string* error);

/// Worker `worker` of `workers` gets all frames of some flows, or, of a single flow, every frame
/// in turn. `indices`: which of `all` they are, in order.
FrameSet PartOf(const FrameSet& all, uint32_t worker, uint32_t workers,
                std::vector<size_t>* indices);

}  // namespace sluice::engine::pktgen
