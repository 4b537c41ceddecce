// SPDX-License-Identifier: BSD-3-Clause
//
// A Linux network interface that acts as the wire of the embedded NIC, for external clients. The
// NIC then has addresses, and answers neighbor requests like any other host (engine/neighbor).
// Datagrams longer than the interface's MTU are sent in fragments. Requires CAP_NET_RAW.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "emulator/wire.h"
#include "engine/neighbor/neighbor.h"
#include "packet/defragmenter.h"
#include "packet/fragmenter.h"
#include "packet/own_addresses.h"

namespace sluice::rpc_app {

class PacketWire final : public emulator::Wire {
 public:
  /// Receives frames from `interface` for the IP addresses in the list `addresses`. The NIC's MAC
  /// address is that of the interface. `shared`: the kernel has these addresses too, and handles
  /// all frames except UDP. Returns null and sets `error` on failure.
  static std::unique_ptr<PacketWire> Open(const std::string& interface,
                                          const std::string& addresses, bool shared,
                                          std::string* error);

  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  const emulator::WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override;

 private:
  static constexpr uint32_t kBurst = 32;
  static constexpr uint32_t kFrameBytes = packet::kLongestDatagramFrame;
  /// Maximum number of datagrams that wait for fragments, and their timeout.
  static constexpr uint32_t kDatagrams = 64;
  static constexpr uint64_t kTimeoutNs = packet::Defragmenter::kTimeoutS * 1'000'000'000ULL;
  /// Indices of the wire's counters. Unless stated otherwise, they count frames that the wire does
  /// not pass to the device.
  enum {
    kForeign,   ///< For another host, or not IP.
    kTagged,    ///< VLAN-tagged.
    kNeighbor,  ///< Neighbor requests that were answered.
    kBadNeighbor,
    kUnsent,       ///< Not accepted by the interface.
    kReassembled,  ///< Reassembled datagrams.
    kBadFragment,  ///< Fragments after unsupported IPv6 headers.
    kKernel,       ///< The kernel handles these frames.
    kCounters
  };

  PacketWire(base::OwnedFd socket, const packet::OwnAddresses& own, uint32_t mtu, bool shared);
  /// Handles the received frame of `length` bytes in buffer `number`. Returns the length of the
  /// frame that the buffer then contains for the device, or 0 if there is none.
  uint32_t AcceptFrame(uint32_t number, uint32_t length, uint32_t status);
  /// Like AcceptFrame, for a frame that is addressed to this NIC. If the frame is the fragment that
  /// completes a datagram, the datagram replaces it in the buffer. Returns 0 for all other
  /// fragments.
  uint32_t Reassemble(uint32_t number, uint32_t length);
  bool IsToUs(const uint8_t* frame, uint32_t length) const;
  static bool IsUdp(const uint8_t* frame, uint32_t length);
  /// Returns false, and counts the frame, if the interface does not accept it.
  bool Send(const uint8_t* frame, uint32_t length);

  base::OwnedFd socket_;
  engine::Neighbor neighbor_;
  packet::Fragmenter fragmenter_;
  packet::Defragmenter defragmenter_;
  uint64_t now_ns_ = 0;
  bool shared_;
  std::vector<std::array<uint8_t, kFrameBytes>> buffers_;
  std::vector<device::WireFrame> frames_;
  uint32_t first_frame_ = 0;
  std::array<uint64_t, kCounters> counts_{};
  /// Includes a counter per Defragmenter::Reason; kUnfinished counts the fragments that are
  /// waiting.
  static constexpr uint32_t kAllCounters = uint32_t{kCounters} + packet::Defragmenter::kReasons;
  std::array<device::Counter, kAllCounters> counters_{};
  emulator::WireTotals totals_;
};

}  // namespace sluice::rpc_app
