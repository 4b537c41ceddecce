// SPDX-License-Identifier: BSD-3-Clause
//
// A network interface of Linux as the wire of the embedded NIC: real clients. The NIC has addresses
// then, and answers what a network asks of any host (engine/neighbor). Datagrams that are longer
// than the interface's MTU travel in fragments, as those of any host. Needs CAP_NET_RAW.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emulator/wire.h"
#include "engine/neighbor/neighbor.h"
#include "packet/defragmenter.h"
#include "packet/fragmenter.h"
#include "runtime/owned_fd.h"

namespace sluice::rpc_app {

class PacketWire final : public emulator::Wire {
 public:
  /// Takes frames from `interface`, which has the NIC's MAC address, for the IP addresses in the
  /// list `addresses`. `shared`: the kernel has them, too; then all but UDP is left to it. Null,
  /// with one line in `error`.
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
  /// Datagrams that may wait for fragments at a time, and for how long.
  static constexpr uint32_t kDatagrams = 64;
  static constexpr uint64_t kTimeoutNs = packet::Defragmenter::kTimeoutS * 1'000'000'000ULL;
  /// Frames that the wire keeps for itself.
  enum {
    kForeign,   ///< To another host.
    kTagged,    ///< Of a VLAN.
    kNeighbor,  ///< Asked for by the network, and answered.
    kBadNeighbor,
    kUnsent,       ///< The interface took them not.
    kReassembled,  ///< Datagrams that were put together.
    kBadFragment,  ///< Behind IPv6 headers that are not supported.
    kKernel,       ///< Left to the kernel.
    kCounters
  };

  PacketWire(runtime::OwnedFd socket, const packet::MacAddress& mac, uint32_t mtu, bool shared);
  /// Returns how long the frame for the device is in buffer `number`, where one of `length` bytes
  /// has come; 0: there is none.
  uint32_t TakeFrame(uint32_t number, uint32_t length, uint32_t status);
  /// The same of a frame to us. A fragment that completes a datagram becomes it.
  uint32_t Reassemble(uint32_t number, uint32_t length);
  bool IsToUs(const uint8_t* frame, uint32_t length) const;
  static bool IsUdp(const uint8_t* frame, uint32_t length);
  /// Returns false, and counts, if the interface does not take the frame.
  bool Send(const uint8_t* frame, uint32_t length);

  runtime::OwnedFd socket_;
  engine::Neighbor neighbor_;
  packet::Fragmenter fragmenter_;
  packet::Defragmenter defragmenter_;
  uint64_t now_ns_ = 0;
  bool shared_;
  std::vector<std::array<uint8_t, kFrameBytes>> buffers_;
  std::vector<device::WireFrame> frames_;
  uint32_t first_frame_ = 0;
  std::array<uint64_t, kCounters> counts_{};
  /// And the fragments that ended for each reason, or wait.
  static constexpr uint32_t kAllCounters = uint32_t{kCounters} + packet::Defragmenter::kReasons;
  std::array<device::Counter, kAllCounters> counters_{};
  emulator::WireTotals totals_;
};

}  // namespace sluice::rpc_app
