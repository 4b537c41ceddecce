// SPDX-License-Identifier: BSD-3-Clause
//
// Decides which senders get answers. A sender's address can be forged, so an answer goes only to
// addresses of possible hosts and ports of possible clients, and only for datagrams that were sent
// to this server. The server's addresses and ports are fixed. Used by one worker.
#pragma once

#include <array>
#include <cstdint>

#include "packet/bytes.h"
#include "packet/datagram.h"
#include "packet/own_addresses.h"

namespace sluice::engine::kv {

struct GateOptions {
  /// MAC and IP addresses of the port. Without IP addresses, any host address is accepted as
  /// destination.
  packet::OwnAddresses own{packet::MacAddress{}};
  /// Accepts any destination: for replayed captures and ports that receive traffic for other hosts.
  bool any_destination = false;
  /// Also accepts clients at ports below 1024 and at ports that are served here, but never at port
  /// 0.
  bool any_source_port = false;
};

enum class Refusal : uint8_t {
  kNone,
  kNotOurs,    ///< The destination is another MAC or IP address, or a group address.
  kBadSource,  ///< The source MAC or IP address is not a host's or is this server's.
  kBadPort,    ///< The source port is 0, below 1024, or served here.
};

class Gate {
 public:
  /// `served(port)` returns whether this server answers at a port.
  template <typename Served>
  Gate(const GateOptions& options, Served served) : Gate(options) {
    if (options.any_source_port) return;
    for (uint32_t port = 1; port <= UINT16_MAX; ++port) {
      if (port < kFirstClientPort || served(static_cast<uint16_t>(port))) Close(port);
    }
  }

  /// Checks a datagram of kind kUdp in `frame`.
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

  /// Returns whether the frame is untagged IPv4 from a host's MAC address to this server's MAC
  /// address, with a pair of IP addresses that was accepted before.
  bool Known(const uint8_t* frame, const packet::Datagram& datagram) const {
    // The destination MAC and the first two bytes of the source MAC, which include its group bit.
    const uint64_t macs = packet::Load<uint64_t>(frame) ^ mac_;
    return macs << 15 == 0 && datagram.payload == packet::Datagram::kPlainPayload &&
           known_[frame[kPlainSource + 3]] == packet::Load<uint64_t>(frame + kPlainSource);
  }

  [[gnu::noinline]] Refusal CheckAll(const uint8_t* frame, const packet::Datagram& datagram);
  Refusal CheckAddresses(const uint8_t* frame, const packet::Datagram& datagram);
  template <typename Address>
  Refusal CheckIp(const Address& from, const Address& to) const;

  GateOptions options_;
  uint64_t mac_;  ///< The MAC address as in a frame, followed by two zero bytes.
  /// Accepted pairs of source and destination address as in a frame, indexed by the last byte of
  /// the source. An entry contains the latest pair.
  std::array<uint64_t, kKnown> known_{};
  /// One bit per source port, indexed in network byte order.
  std::array<uint64_t, 1024> closed_{};
};

}  // namespace sluice::engine::kv
