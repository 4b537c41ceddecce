// SPDX-License-Identifier: BSD-3-Clause
//
// Describes a stream (header fields, sizes, rate and time) and builds its frames. Used by the main
// thread.
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
/// Maximum number of streams per run.
inline constexpr size_t kMaxStreams = 64;
/// Maximum number of repetitions of a capture.
inline constexpr uint64_t kMaxLoops = uint64_t{1} << 40;

struct VlanTag {
  Field id = 1;  ///< 0 … 4095.
  uint8_t priority = 0;
  uint16_t ethertype = packet::kEtherTypeVlan;
};

/// Ethernet, tags, IP and upper headers.
struct HeaderSpec {
  Field destination_mac = Field::Value{0x0200'0000'0001};
  Field source_mac = Field::Value{0x0253'6c67'656e};
  std::vector<VlanTag> tags;  ///< Outer tag first; at most two.

  uint8_t ip_version = 4;  ///< 4 or 6.
  Field source = Field::Value{0x0a00'0001};
  Field destination = Field::Value{0xc612'0001};  // 198.18.0.1, in the range reserved for RFC 2544.
  Field service = 0;                              ///< Type of service, or traffic class.
  uint8_t hops = 64;                              ///< TTL, or hop limit.

  /// UDP, TCP, or ICMP (ICMPv6 over IPv6): echo requests.
  uint8_t protocol = packet::kProtocolUdp;
  Field source_port = 1024;    ///< ICMP: the identifier.
  Field destination_port = 9;  ///< Discard port of UDP and TCP.
  uint8_t tcp_flags = 0x10;    ///< ACK.

  uint32_t bytes() const;
  /// Returns all fields; used to compute their common cycle.
  std::vector<const Field*> fields() const;
};

/// Encapsulates the frame in a UDP datagram over IPv4: RFC 7348.
struct VxlanSpec {
  static constexpr uint16_t kPort = 4789;
  HeaderSpec outer;   ///< IPv4 and UDP.
  Field network = 1;  ///< VNI, 0 … 2^24 - 1.
};

/// Counts of the frames in a capture that are not sent exactly as captured.
struct CaptureNotes {
  uint64_t oversize = 0;  ///< Omitted: longer than kMaxSize.
  uint64_t snapped = 0;   ///< Truncated by the snap length; padded with zeros.
  /// Timestamp before that of the previous frame; sent together with the previous frame.
  uint64_t steps_back = 0;
  uint64_t jumps = 0;  ///< Timestamp after a clock change; sent together with the previous frame.
};

struct StreamSpec {
  std::string name = "default";
  HeaderSpec headers;
  std::optional<VxlanSpec> vxlan;
  /// Size of the whole frame in bytes, including FCS.
  Field sizes = kMinSize;
  uint64_t seed = 1;  ///< Seed of the payload.

  /// Sorted and not overlapping.
  std::vector<Phase> phases = {Phase{0, kNever, {Rate::Unit::kPackets, 1e6}}};
  workload::Arrivals arrivals = workload::Arrivals::kConstant;
  uint64_t frames = 0;  ///< Number of frames after which the stream ends; 0: unlimited.

  /// `captured` contains the frames of all workers, captured or built earlier. These frames are
  /// used instead of headers and sizes. If `offsets` is not null, its capture times are used
  /// instead of phases.
  std::shared_ptr<const FrameSet> captured;
  std::shared_ptr<const Offsets> offsets;
  std::optional<CaptureNotes> notes;  ///< Set for a capture.

  /// Returns the number of bytes before the payload.
  uint32_t header_bytes() const;
  /// Returns the minimum frame size in bytes: headers, one payload byte that an echo may change,
  /// the tag and the FCS; at least kMinSize.
  uint32_t least_size() const;
};

/// Builds all frames of a stream from its headers; returns StreamSpec::captured if it is set. If
/// the stream needs more than 2^22 frames or 1 GiB, or if a size is out of range, returns null and
/// writes a help text to `error`.
std::shared_ptr<const FrameSet> BuildFrames(const StreamSpec& spec, std::string* error);

/// Returns the frames of worker `worker` of `workers`, and their sorted indices in `all`:
/// - all frames, if there are fewer frames than workers;
/// - every `workers`-th frame, if there are fewer flows than workers;
/// - otherwise, all frames of some flows.
FrameSet PartOf(const FrameSet& all, uint32_t worker, uint32_t workers,
                std::vector<size_t>* indices);

}  // namespace sluice::engine::pktgen
