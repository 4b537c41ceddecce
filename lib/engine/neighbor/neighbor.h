// SPDX-License-Identifier: BSD-3-Clause
//
// Answers requests that every host must answer, for a configured list of addresses: ARP requests
// (RFC 826), neighbour solicitations (RFC 4861) and echo requests (RFC 792, RFC 4443). Works in
// place and keeps no state per packet. Frames that it neither answers nor drops are passed to the
// application's engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/counter_rows.h"
#include "packet/burst.h"
#include "packet/engine.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/frame_length.h"
#include "packet/own_addresses.h"
#include "packet/rewrite.h"

namespace sluice::packet {
struct Headers;
}

namespace sluice::engine {

/// Answers requests to the addresses of one port. Any thread may call Process, which does not
/// change the object.
class Neighbor {
 public:
  /// Reasons to drop a frame that was sent to us.
  enum Reason : uint8_t {
    kMalformed,    ///< A wrong code, or a solicitation with a wrong length, option or destination.
    kBadChecksum,  ///< The IPv4 header, ICMP or ICMPv6 checksum is wrong.
    kBadSource,    ///< The answer would go to a group, to ourselves or to the unspecified address.
    kHopLimit,     ///< A solicitation that a router forwarded: hop limit below 255.
    kUnsupported,  ///< A source route with remaining hops; a solicitation after extension headers.
    kNoRoom,       ///< The advertisement is longer than the solicitation and does not fit into its
                   ///< buffer.
    kReasons
  };
  static constexpr auto kDropReasons =
      base::Names<Reason, kReasons>({{kMalformed, "neighbor_malformed"},
                                     {kBadChecksum, "neighbor_bad_checksum"},
                                     {kBadSource, "neighbor_bad_source"},
                                     {kHopLimit, "neighbor_hop_limit"},
                                     {kUnsupported, "neighbor_unsupported"},
                                     {kNoRoom, "neighbor_no_room"}});

  explicit Neighbor(const packet::OwnAddresses& own) : own_(own) {}

  const packet::OwnAddresses& own() const { return own_; }

  /// Returns the verdict, or nullopt if the frame is not for this object. An answer keeps VLAN tags
  /// and Ethernet padding. An advertisement may be up to 8 bytes longer than the frame and then
  /// uses the frame's tailroom.
  std::optional<packet::Verdict> Process(packet::Frame& frame, uint64_t /*now*/) const {
    if (!MayConcern(frame)) [[likely]]
      return std::nullopt;
    const Outcome outcome = Answer(frame.data, frame.length, frame.tailroom);
    if (!outcome.mine) return std::nullopt;
    return outcome.ApplyTo(frame);
  }

  // The steps of Process, for use in a worker's loop.

  /// Returned by value so that the caller's Frame stays in registers.
  struct Outcome {
    packet::Verdict verdict;
    bool mine;
    uint32_t length;

    /// Changes the frame to the answer, if there is one, and returns the verdict.
    packet::Verdict ApplyTo(packet::Frame& frame) const {
      frame.tailroom = frame.tailroom + frame.length - length;
      frame.length = length;
      return verdict;
    }
  };
  /// With one load, excludes plain TCP and UDP over IPv4, which make up most of the traffic.
  static bool MayConcern(const packet::Frame& frame) {
    if (frame.length < packet::kEthernetHeaderBytes + packet::kIpv4MinHeaderBytes) return false;
    return !packet::LeadingWord::Of(frame.data).IsPlainIpv4() ||
           frame.data[23] == packet::kProtocolIcmp;
  }
  /// Answers a frame for which MayConcern returns true.
  [[gnu::noinline]] Outcome Answer(uint8_t* frame, uint32_t length, uint32_t tailroom) const;

 private:
  Outcome AnswerArp(uint8_t* frame, uint32_t length, const packet::Headers& headers) const;
  /// Returns the outcome of an echo request that is not answered even if its checksums are correct;
  /// nullopt if it may be answered.
  template <typename Address>
  std::optional<Outcome> RefuseEcho(const uint8_t* frame, uint32_t length,
                                    const packet::Headers& headers, const Address& source,
                                    const Address& destination) const;
  Outcome AnswerEcho(uint8_t* frame, uint32_t length, const packet::Headers& headers) const;
  Outcome AnswerEchoIpv6(uint8_t* frame, uint32_t length, const packet::Headers& headers) const;
  Outcome AnswerSolicitation(uint8_t* frame, uint32_t length, uint32_t tailroom,
                             const packet::Headers& headers) const;

  packet::OwnAddresses own_;
};

/// An engine that answers through a Neighbor first and passes the other frames to `Engine`. It is a
/// FrameEngine, and also a BurstEngine if `Engine` is one. Its drop reasons are those of `Engine`
/// followed by Neighbor's. Applications without addresses use `Engine` directly.
template <packet::QueueEngine Engine>
class WithNeighbor final : public packet::EngineLayer<Engine> {
  using Base = packet::EngineLayer<Engine>;

 public:
  static constexpr auto kDropReasons =
      base::JoinNames(Engine::kDropReasons, Neighbor::kDropReasons);

  WithNeighbor(const packet::OwnAddresses& own, Engine engine)
      : Base([&] { return std::move(engine); }), neighbor_(own) {}

  /// Constructs the engine in place from `arguments`.
  template <typename... Arguments>
  WithNeighbor(const packet::OwnAddresses& own, std::in_place_t /*tag*/, Arguments&&... arguments)
      : Base([&] { return Engine(std::forward<Arguments>(arguments)...); }), neighbor_(own) {}

  packet::Verdict Process(packet::Frame& frame, uint64_t now) {
    // Does not call WithNeighbor::Answer, because its std::optional costs instructions for each
    // frame.
    if (Neighbor::MayConcern(frame)) [[unlikely]] {
      const auto outcome = neighbor_.Answer(frame.data, frame.length, frame.tailroom);
      if (outcome.mine) return Renumbered(outcome.ApplyTo(frame));
    }
    return packet::ProcessFrame(this->engine_, frame, now);
  }
  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t now) requires packet::BurstEngine<Engine> {
    std::optional<packet::Verdict> verdict;
    packet::DivideBurst(
        burst, [&](packet::Frame& frame) { return (verdict = Answer(frame, now)).has_value(); },
        [&](packet::Frame& /*frame*/) { return *verdict; },
        [&](auto& part) { this->engine_.ProcessBurst(part, now); });
  }

  const packet::OwnAddresses& own() const { return neighbor_.own(); }

 private:
  static constexpr uint8_t kFirstReason = Engine::kDropReasons.size();

  std::optional<packet::Verdict> Answer(packet::Frame& frame, uint64_t now) const {
    const std::optional<packet::Verdict> verdict = neighbor_.Process(frame, now);
    if (!verdict) return std::nullopt;
    return Renumbered(*verdict);
  }
  /// Returns a verdict from Neighbor with its reason renumbered for kDropReasons.
  static packet::Verdict Renumbered(packet::Verdict verdict) {
    if (verdict.action == packet::Action::kDrop) verdict.reason += kFirstReason;
    return verdict;
  }

  Neighbor neighbor_;
};

}  // namespace sluice::engine
