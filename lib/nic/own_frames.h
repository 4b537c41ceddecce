// SPDX-License-Identifier: BSD-3-Clause
//
// The address filter of an engine that serves one station. It drops frames for other stations that
// the port has accepted: some NICs (Ensō) do not filter, some drivers over a kernel interface
// receive frames that a bridge floods, and no NIC knows which group addresses an engine needs.
// Session adds this layer to each engine with kOwnFramesOnly.
//
// Unless the port is promiscuous, a frame to a group address does not reach the engine, because the
// engine's answer would have that address as its source, and a host discards IP datagrams to a
// unicast address that arrive as link-layer broadcast (RFC 1122 section 3.3.6). ARP and ICMPv6
// frames are the exception: they reach an engine that owns addresses. Other frames to a group are
// sent to the exception port, because the kernel there may be a member of the group.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/counter_rows.h"
#include "nic/queue_counters.h"
#include "packet/burst.h"
#include "packet/bytes.h"
#include "packet/engine.h"
#include "packet/ethernet.h"
#include "packet/host_address.h"
#include "packet/parse.h"
#include "packet/rewrite.h"

namespace sluice::nic {

/// The filter, implemented as a layer around an engine. It costs one load per frame, and one branch
/// per burst or frame.
template <packet::QueueEngine Engine>
class OwnFrames final : public packet::EngineLayer<Engine> {
 public:
  /// The engine's reasons, followed by one for frames to other stations. Its name is that of
  /// Linux's rtnl_link_stats64.
  static constexpr auto kDropReasons =
      base::JoinNames(Engine::kDropReasons, std::array<std::string_view, 1>{"rx_otherhost"});
  static_assert(kDropReasons.size() <= QueueCounters::kMaxReasons);

  /// `mac` is the port's address. If `promiscuous` is set, the engine receives every frame.
  /// `make()` constructs the engine in place.
  template <typename Make>
  OwnFrames(const packet::MacAddress& mac, bool promiscuous, Make make)
      : packet::EngineLayer<Engine>(make),
        mask_(promiscuous ? 0 : Bits(kEveryBit)),
        mac_(Bits(mac)) {}

  packet::Verdict Process(packet::Frame& frame, uint64_t now) {
    if (Difference(frame) != 0) [[unlikely]] {
      if (const auto verdict = Refuse(frame.data, frame.length)) return *verdict;
    }
    return packet::ProcessFrame(this->engine_, frame, now);
  }
  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t now) requires packet::BurstEngine<Engine> {
    uint64_t differences = 0;
    for (uint32_t number = 0; number < burst.size(); ++number) {
      differences |= Difference(burst.At(number));
    }
    if (differences != 0) [[unlikely]]
      return Divide(burst, now);
    this->engine_.ProcessBurst(burst, now);
  }

 private:
  static constexpr uint8_t kOtherHost = Engine::kDropReasons.size();
  static constexpr packet::MacAddress kEveryBit{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

  /// Returns the value that a load of a frame's first eight bytes would give if the frame began
  /// with `mac`, followed by zeros.
  static uint64_t Bits(const packet::MacAddress& mac) {
    std::array<uint8_t, sizeof(uint64_t)> bytes{};
    std::memcpy(bytes.data(), mac.data(), mac.size());
    return packet::Load<uint64_t>(bytes.data());
  }

  /// Returns 0 if the frame is for this station. A frame's buffer must have at least eight bytes,
  /// even if the frame is shorter.
  uint64_t Difference(const packet::Frame& frame) const {
    return (packet::Load<uint64_t>(frame.data) ^ mac_) & mask_;
  }

  /// Splits a burst at the frames that do not reach the engine.
  template <packet::Burst Burst>
  [[gnu::noinline]] void Divide(Burst& burst, uint64_t now) {
    std::optional<packet::Verdict> verdict;
    packet::DivideBurst(
        burst,
        [&](const packet::Frame& frame) {
          if (Difference(frame) == 0) return false;
          verdict = Refuse(frame.data, frame.length);
          return verdict.has_value();
        },
        [&](packet::Frame& /*frame*/) { return *verdict; },
        [&](auto& part) { this->engine_.ProcessBurst(part, now); });
  }

  /// Returns the verdict for a frame to another address, or nullopt if the engine must receive it.
  [[gnu::noinline]] std::optional<packet::Verdict> Refuse(const uint8_t* frame,
                                                          uint32_t length) const {
    if (length < packet::kEthernetHeaderBytes) return std::nullopt;
    if (packet::IsHostMac(frame)) return packet::Drop(kOtherHost);
    if constexpr (packet::HostEngine<Engine>) {
      const packet::Headers headers = packet::Parse(frame, length);
      if (headers.network == packet::Network::kArp ||
          (headers.IsIpv6() && headers.protocol == packet::kProtocolIcmpv6)) {
        return std::nullopt;
      }
    }
    return packet::kPass;
  }

  uint64_t mask_;  ///< Mask of the bits in a frame's first eight bytes that must equal mac_.
  uint64_t mac_;
};

}  // namespace sluice::nic
