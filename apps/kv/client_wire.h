// SPDX-License-Identifier: BSD-3-Clause
//
// A client of sluice-kv as the wire of a model NIC: wire=library:libsluice_kv_wire.so+OPTIONS. Its
// requests arrive in frames, and it receives the server's answers. Its counters and latencies are
// statistics of the wire. It uses the time of the stepping thread, so latencies include the model's
// work.
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

#include "emulator/recording.h"
#include "emulator/wire.h"
#include "engine/kv/client/client.h"
#include "packet/rewrite.h"

namespace sluice::kv {

/// Source address of the requests.
inline constexpr packet::Ipv4Address kClientWireAddress{10, 0, 0, 1};

struct ClientWireOptions {
  engine::kv::client::ClientOptions client;
  packet::Ipv4Address to{10, 0, 0, 2};
  uint16_t mica_port = 1024;
  uint16_t memcached_port = 11211;
};

/// Parses the options described above. Returns nullopt, with one line in `error`, on a mistake.
[[gnu::visibility("default")]] std::optional<ClientWireOptions> ReadClientWireOptions(
    std::string_view text, uint64_t seed, std::string* error);

class ClientWire final : public emulator::Wire {
 public:
  /// `server`: destination MAC address.
  ClientWire(const ClientWireOptions& options, const packet::MacAddress& server);

  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  const emulator::WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override;
  emulator::Recording* recording() override;

 private:
  /// Maximum frames that wait for the device.
  static constexpr uint32_t kSlots = 64;
  static constexpr uint32_t kSlotBytes = 2048;

  uint8_t* Slot(uint32_t i) { return slots_.get() + size_t{i} * kSlotBytes; }

  ClientWireOptions options_;
  packet::MacAddress server_;
  engine::kv::client::Client client_;
  std::unique_ptr<emulator::Recording> recording_;  ///< Null until it is requested.
  std::unique_ptr<uint8_t[]> slots_;
  /// Frames that are not consumed yet, in order, each in a separate slot.
  std::vector<device::WireFrame> frames_;
  std::vector<uint32_t> free_;  ///< Free slots.
  emulator::WireTotals totals_;
  std::vector<device::Counter> counters_;
  uint64_t unknown_ = 0;  ///< Frames that are not datagrams for the client.
};

}  // namespace sluice::kv
