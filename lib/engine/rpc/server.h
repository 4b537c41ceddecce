// SPDX-License-Identifier: BSD-3-Clause
//
// Serves ONC-RPC calls from frames. The host performs the steps that an RPC NIC performs before a
// core sees a call (device/rpc/rpc_nic.h), and calls the function. The reply replaces the call in
// the frame, or is sent in fragments. Satisfies packet::FrameEngine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "device/rpc/rpc_counters.h"
#include "device/rpc/services.h"
#include "engine/rpc/execution.h"
#include "packet/engine.h"
#include "packet/fragmenter.h"
#include "packet/frame.h"
#include "packet/outbox.h"
#include "packet/own_addresses.h"
#include "rpc/call_frame.h"

namespace sluice::engine::rpc {

using device::rpc::RpcCounter;

/// Indexed by RpcCounter. Each counter counts the same events as the NIC's counter. Drops are not
/// counted here: the interface counts them by reason.
using Counts = std::array<uint64_t, device::rpc::kRpcCounters>;

class Server final : public packet::Engine {
 public:
  /// Number of drop reasons: RpcCounter::kMalformed … kNotACall. Frames that are not UDP, or are
  /// not sent to a service's port, are passed on instead of dropped.
  static constexpr uint32_t kReasons = 6;
  static constexpr std::array<std::string_view, kReasons> kDropReasons = [] {
    std::array<std::string_view, kReasons> names{};
    for (uint32_t i = 0; i < kReasons; ++i) names[i] = device::rpc::kRpcCounterNames[i + 1];
    return names;
  }();

  static constexpr bool kOwnFramesOnly = true;

  /// Maximum frame size of a reply; the same as the NIC's.
  static constexpr uint32_t kMaxFrame = packet::kLongestDatagramFrame;

  /// `services` and `counts` must outlive the server. In `services`, each entry's code must be a
  /// Function of this process. While the server exists, other threads may only read `services`.
  /// `own` contains the addresses whose calls are answered; if it is empty, all calls are. `mtu` is
  /// the maximum IP packet size of the port in bytes; longer replies are fragmented.
  Server(const device::rpc::Services& services, Counts& counts, const packet::OwnAddresses& own,
         uint32_t mtu = packet::Fragmenter::kUnlimited);

  packet::Verdict Process(packet::Frame& frame, uint64_t now);
  void set_outbox(packet::Outbox outbox) override { outbox_ = outbox; }

 private:
  /// kNotUdp and kNotOurPort, which are not drops, precede and follow the reasons.
  static constexpr uint32_t kFirstReason = static_cast<uint32_t>(RpcCounter::kMalformed);
  static_assert(kFirstReason == 1 &&
                static_cast<uint32_t>(RpcCounter::kNotACall) == kFirstReason + kReasons - 1);

  /// Memory in which a frame can be built.
  struct Place {
    uint8_t* data;
    uint32_t bytes;
  };

  void Count(RpcCounter counter) { ++(*counts_)[static_cast<uint32_t>(counter)]; }
  bool IsToUs(const uint8_t* frame, const packet::Datagram& datagram) const;
  packet::Verdict Serve(packet::Frame& frame, const wire::CallFrame& read,
                        const device::rpc::Services::Found& found);
  packet::Verdict Results(packet::Frame& frame, const wire::CallFrame& read,
                          const device::rpc::Service& service, uint32_t procedure);
  /// Sends a reply that exceeds the port's MTU.
  packet::Verdict SendInFragments(const packet::Frame& frame, const wire::CallFrame& read);
  /// Returns the number of bytes that are available from a frame's first byte on.
  static uint32_t RoomOf(const packet::Frame& frame);
  /// Returns two places for a reply that outgrows its frame, in order of preference. The first is
  /// the memory to which the interface would copy the frame.
  std::array<Place, 2> OtherPlaces(const packet::Frame& frame) const;
  /// Copies the network headers of the call to `data`, and makes `frame` start there.
  static void MoveTo(uint8_t* data, packet::Frame& frame, const wire::CallFrame& read);
  /// Replies with a message that does not contain a result.
  packet::Verdict Refuse(packet::Frame& frame, const wire::CallFrame& read, const uint8_t* message,
                         uint32_t bytes, RpcCounter counter);
  packet::Verdict RefuseAccepted(packet::Frame& frame, const wire::CallFrame& read,
                                 wire::AcceptStat stat);

  const device::rpc::Services* services_;
  Counts* counts_;
  packet::OwnAddresses own_;
  Execution execution_;
  packet::Outbox outbox_;
  packet::Fragmenter fragmenter_;
  std::unique_ptr<uint8_t[]> large_;  ///< kMaxFrame bytes for a reply that outgrows its frame.
};

}  // namespace sluice::engine::rpc
