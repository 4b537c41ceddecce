// SPDX-License-Identifier: BSD-3-Clause
//
// Who gets answers at all. A sender's address can be forged: an answer goes only to what may be a
// host and a client, and only to datagrams that were sent to us. Which destinations and which
// ports those are is fixed; one worker's.
#pragma once

#include <array>
#include <cstdint>

#include "engine/neighbor/own_addresses.h"
#include "packet/bytes.h"
#include "packet/datagram.h"

namespace sluice::engine::kv {

struct GateOptions {
  /// The port's MAC. IP destinations are its addresses; without any, all that a host may have.
  OwnAddresses own{packet::MacAddress{}};
  /// Whatever the destination: captures that are replayed, ports that see others' traffic.
  bool any_destination = false;
  /// Clients at ports below 1024 and at ports that are served here, too; never at port 0.
  bool any_source_port = false;
};

enum class Refusal : uint8_t {
  kNone,
  kNotOurs,    ///< Another MAC, or another IP address, or a group's.
  kBadSource,  ///< No host has such a MAC or IP address, or it is our own.
  kBadPort,    ///< Of the sender: 0, below 1024, or served here.
};

class Gate {
 public:
  /// `served(port)`: whether this server answers there.
  template <typename Served>
  Gate(const GateOptions& options, Served served) : Gate(options) {
    if (options.any_source_port) return;
    for (uint32_t port = 1; port <= UINT16_MAX; ++port) {
      if (port < kFirstClientPort || served(static_cast<uint16_t>(port))) Close(port);
    }
  }

  /// Of a datagram of kind kUdp in `frame`.
  Refusal Check(const uint8_t* frame, const packet::Datagram& datagram) {
    if (!Known(frame, datagram)) [[unlikely]]
      return CheckAll(frame, datagram);
    return IsClosed(frame + kPlainL4) ? Refusal::kBadPort : Refusal::kNone;
  }

 private:
  static constexpr uint32_t kFirstClientPort = 1024;
  static constexpr uint32_t kKnown = 256;
  static constexpr uint32_t kPlainL4 = packet::Datagram::kPlainPayload - packet::kUdpHeaderBytes;
  static constexpr uint32_t kPlainSource = packet::kEthernetHeaderBytes + 12;

  explicit Gate(const GateOptions& options);
  void Close(uint32_t port);
  bool IsClosed(const uint8_t* port) const {
    const uint32_t bit = packet::Load<uint16_t>(port);
    return (closed_[bit / 64] >> bit % 64 & 1) != 0;
  }

  /// Untagged IPv4 to our MAC from a host's, between addresses that were right before.
  bool Known(const uint8_t* frame, const packet::Datagram& datagram) const {
    // The destination's MAC, and two bytes of the source's, the first with the group bit.
    const uint64_t macs = packet::Load<uint64_t>(frame) ^ mac_;
    return macs << 15 == 0 && datagram.payload == packet::Datagram::kPlainPayload &&
           known_[frame[kPlainSource + 3]] == packet::Load<uint64_t>(frame + kPlainSource);
  }

  [[gnu::noinline]] Refusal CheckAll(const uint8_t* frame, const packet::Datagram& datagram);
  Refusal CheckAddresses(const uint8_t* frame, const packet::Datagram& datagram);
  template <typename Address>
  Refusal CheckIp(const Address& from, const Address& to) const;

  GateOptions options_;
  uint64_t mac_;  ///< As in a frame, with two bytes of 0 behind it.
  /// Sources and destinations that are right, as in a frame: the latest by the source's last byte.
  std::array<uint64_t, kKnown> known_{};
  std::array<uint64_t, 1024> closed_{};  ///< A bit for each source port, as in a frame.
};

}  // namespace sluice::engine::kv
