// SPDX-License-Identifier: BSD-3-Clause
//
// A client of sluice-kv as the wire of a model NIC: wire=library:libsluice_kv_wire.so+OPTIONS.
// Its requests arrive in frames, the server's answers come back to it. What it counts and the
// latencies that it measures are statistics of the wire. The stepping thread's time is the
// client's, so that the model's own work is part of the latencies.
//
//   protocol=mica|ascii|binary  mica_port=N  memcached_port=N  workers=N  partitions=N
//   items=N  key=BYTES  value=BYTES  get=SHARE  zipf=EXPONENT  rate=PER_SECOND
//   outstanding=N  batch=N  verify=on|off  to=ADDRESS
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/wire.h"
#include "engine/kv/client/client.h"
#include "packet/rewrite.h"

namespace sluice::kv {

/// Where its requests come from.
inline constexpr packet::Ipv4Address kClientWireAddress{10, 0, 0, 1};

struct ClientWireOptions {
  engine::kv::client::ClientOptions client;
  packet::Ipv4Address to{10, 0, 0, 2};
  uint16_t mica_port = 1024;
  uint16_t memcached_port = 11211;
};

/// Reads what stands above. Nothing, with one line in `error`, if something is wrong.
[[gnu::visibility("default")]] std::optional<ClientWireOptions> ReadClientWireOptions(
    std::string_view text, uint64_t seed, std::string* error);

class ClientWire final : public emulator::Wire {
 public:
  /// `server`: the MAC address that it sends to.
  ClientWire(const ClientWireOptions& options, const packet::MacAddress& server);

  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  const emulator::WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override;

 private:
  /// Frames that may wait for the device.
  static constexpr uint32_t kSlots = 64;
  static constexpr uint32_t kSlotBytes = 2048;
  static constexpr uint32_t kPayload = 42;  ///< Ethernet, IPv4, UDP.

  uint8_t* Slot(uint32_t i) { return slots_.get() + size_t{i} * kSlotBytes; }
  /// Headers for the payload that lies behind them. Returns the frame's length.
  uint32_t Finish(uint8_t* frame, const engine::kv::client::Outgoing& outgoing);
  uint16_t PortOf(uint32_t endpoint) const;

  ClientWireOptions options_;
  packet::MacAddress server_;
  engine::kv::client::Client client_;
  std::unique_ptr<uint8_t[]> slots_;
  /// Made and not yet taken, in order, in slots of their own.
  std::vector<device::WireFrame> frames_;
  std::vector<uint32_t> free_;  ///< Slots.
  emulator::WireTotals totals_;
  std::vector<device::Counter> counters_;
  uint64_t unknown_ = 0;  ///< Frames that are no datagrams for the client.
};

}  // namespace sluice::kv
