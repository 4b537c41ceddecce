// SPDX-License-Identifier: BSD-3-Clause
//
// wire=port: uses another ethdev as the wire. Frames received from it go to the device, and frames
// from the device are sent through it. For example, net_af_packet on a veth connects the model NIC
// to a real network; net_tap, net_memif or a physical port work as well.
#pragma once

#include <rte_ethdev.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "dpdk/owned_port.h"
#include "emulator/frame_ring.h"
#include "emulator/wire.h"
#include "emulator/wire_counters.h"

struct rte_mempool;

namespace sluice::emulator {

/// Owns the port (rte_eth_dev_owner_set), so that applications do not poll it. Pads frames to the
/// Ethernet minimum in both directions, as a MAC would.
class PortWire final : public Wire {
 public:
  /// Configures and starts the ethdev `port` with one queue in each direction. `name` is the
  /// model's vdev name. On failure, returns null and sets `error` to a one-line message.
  static std::unique_ptr<PortWire> Create(const std::string& port, std::string_view name,
                                          std::string* error);
  /// Stops and closes the port, unless the port is gone, and gives up ownership.
  ~PortWire() override;

  MacAddress mac() const { return mac_; }

  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  bool LinkUp(uint64_t now_ns) override;
  const WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override { return counters_; }

 private:
  static constexpr uint32_t kBurst = 64;
  static constexpr uint32_t kTransmitTries = 16;
  static constexpr uint64_t kLinkPeriod_ns = 50'000'000;
  using enum PortCounters::Kind;

  explicit PortWire(std::unique_ptr<dpdk::OwnedPort> port)
      : owned_(std::move(port)), port_id_(owned_->id()) {}
  bool Open(const std::string& port, std::string_view name, std::string* error);
  /// Makes the frame a single segment of at least kMinFrameBytes.
  static bool MakePlain(rte_mbuf* mbuf);
  void Send(std::span<const device::WireFrame> frames);

  std::unique_ptr<dpdk::OwnedPort> owned_;
  const uint16_t port_id_;
  rte_mempool* pool_ = nullptr;
  bool started_ = false;
  /// Frames may have partial checksums (packet/partial_checksum.h).
  bool partial_checksums_ = false;
  MacAddress mac_ = {};
  std::array<rte_mbuf*, kBurst> received_ = {};
  std::array<device::WireFrame, kBurst> frames_ = {};
  uint32_t first_ = 0;  ///< Received frames [first_, last_) are waiting for the device.
  uint32_t last_ = 0;
  bool link_up_ = true;
  uint64_t link_read_ns_ = 0;
  WireTotals totals_;
  std::array<device::Counter, kKinds> counters_ = device::ZeroCounters(PortCounters::kRows);
};

}  // namespace sluice::emulator
