// SPDX-License-Identifier: BSD-3-Clause
//
// The address filter in front of an engine that serves one station: frames for other stations are
// dropped, whatever the port lets through. Some NICs filter nothing (Ensō), some drivers over a
// kernel's interface see what a bridge floods, and no NIC can tell which group addresses an
// engine needs. Session puts it in front of each engine with kOwnFramesOnly.
//
// A frame to a group address is never the engine's, because an answer would leave with that
// address as its source, and a host discards what its link layer broadcasts to a unicast
// IP address (RFC 1122 section 3.3.6). ARP and ICMPv6 reach an engine that answers for addresses;
// every other frame to a group leaves through the exception port, whose kernel may be a member.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "nic/engine_layer.h"
#include "nic/queue_counters.h"
#include "packet/burst.h"
#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/host_address.h"
#include "packet/parse.h"
#include "packet/rewrite.h"

namespace sluice::nic {

/// The comparison is one load per frame, and one branch per burst or frame.
template <QueueEngine Engine>
class OwnFrames : public EngineLayer<Engine> {
 public:
  /// The engine's, followed by one for frames to other stations, named as in Linux's
  /// rtnl_link_stats64.
  static constexpr auto kDropReasons = [] {
    constexpr size_t kOwn = Engine::kDropReasons.size();
    std::array<std::string_view, kOwn + 1> all{};
    for (size_t i = 0; i < kOwn; ++i) all[i] = Engine::kDropReasons[i];
    all[kOwn] = "rx_otherhost";
    return all;
  }();
  static_assert(kDropReasons.size() <= QueueCounters::kMaxReasons);

  /// `mac`: the port's address. If `promiscuous`, every frame is the engine's. The engine is made
  /// in place, by `make()`.
  template <typename Make>
  OwnFrames(const packet::MacAddress& mac, bool promiscuous, Make make)
      : EngineLayer<Engine>(make), mask_(promiscuous ? 0 : Bits(kEveryBit)), mac_(Bits(mac)) {}

  packet::Verdict Process(packet::Frame& frame, uint64_t now) {
    if (Difference(frame) != 0) [[unlikely]] {
      if (const auto verdict = Refuse(frame.data, frame.length)) return *verdict;
    }
    return packet::ProcessFrame(this->engine_, frame, now);
  }
  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t now) requires BurstEngine<Engine> {
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

  /// An address as the first eight bytes of a frame to it, with zeros behind it.
  static uint64_t Bits(const packet::MacAddress& mac) {
    std::array<uint8_t, sizeof(uint64_t)> bytes{};
    std::memcpy(bytes.data(), mac.data(), mac.size());
    return packet::Load<uint64_t>(bytes.data());
  }

  /// 0: the frame is for this station. Whatever a frame's length, its buffer has eight bytes.
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

  /// The ending of a frame with a difference; nothing: it is the engine's after all.
  [[gnu::noinline]] std::optional<packet::Verdict> Refuse(const uint8_t* frame,
                                                          uint32_t length) const {
    if (length < packet::kEthernetHeaderBytes) return std::nullopt;
    if (packet::IsHostMac(frame)) return packet::Drop(kOtherHost);
    if constexpr (HostEngine<Engine>) {
      const packet::Headers headers = packet::Parse(frame, length);
      if (headers.network == packet::Network::kArp ||
          (headers.IsIpv6() && headers.protocol == packet::kProtocolIcmpv6)) {
        return std::nullopt;
      }
    }
    return packet::kPass;
  }

  uint64_t mask_;  ///< Which of a frame's first eight bytes must be those of mac_.
  uint64_t mac_;
};

}  // namespace sluice::nic
