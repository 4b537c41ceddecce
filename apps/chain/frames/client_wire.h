// SPDX-License-Identifier: BSD-3-Clause
//
// Clients of a chain, which are the wire of a model NIC. They send the messages of a Traffic
// (traffic.h) in frames (engine/messages/part.h), and compare each answer with the expected one.
// They run on the stepping thread and read the monotonic clock, so latencies include the NIC's
// work.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/wire.h"
#include "engine/messages/part.h"
#include "engine/workload/histogram.h"
#include "ledger.h"
#include "packet/rewrite.h"

namespace sluice::chain_app {

class ClientWire final : public emulator::Wire {
 public:
  /// A client, which sends the messages of one flow to a UDP port.
  struct Client {
    uint16_t port;
    std::unique_ptr<Ledger> ledger;
  };
  /// `server`: the MAC address of the NIC.
  ClientWire(std::vector<Client> clients, const packet::MacAddress& server);

  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  const emulator::WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override;

 private:
  struct Answer {
    uint32_t number = 0;
    std::vector<uint8_t> data;
    uint32_t length = 0;
  };

  void Make(size_t index, uint64_t now_ns);
  void Arrived(const device::WireFrame& frame, uint64_t now_ns);
  std::vector<uint8_t>& NextBuffer();

  std::vector<Client> clients_;
  packet::MacAddress server_;
  std::vector<uint8_t> message_;               ///< Buffer for the longest message.
  std::vector<std::vector<uint8_t>> buffers_;  ///< Reused buffers of frames_.
  std::vector<device::WireFrame> frames_;      ///< Frames of the last messages, in order.
  size_t first_frame_ = 0;
  size_t turn_ = 0;  ///< Index of the next client.
  /// Incomplete answers, keyed by flow and by the number's index in the flow's ledger.
  std::unordered_map<uint64_t, Answer> answers_;
  uint64_t foreign_ = 0;  ///< Frames that are not answers.
  emulator::WireTotals totals_;
  std::vector<device::Counter> counters_;
};

}  // namespace sluice::chain_app
