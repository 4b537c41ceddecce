// SPDX-License-Identifier: BSD-3-Clause
//
// Clients of sluice-sched as the wire of a model NIC: wire=library:libsluice_sched_wire.so+OPTIONS.
// Requests come when they are due, however the server does (open loop), and latencies count from
// then, so that a server that stands still is charged for it. What it counts are statistics of the
// wire. The stepping thread's time is the clients', so that the model's own work is part of the
// latencies.
//
//   rate=PER_SECOND  short_us=N  long_us=N  long_share=SHARE  runaway_share=SHARE  port=N
//   sockets=N  (source ports from 40000 on, so that RSS spreads them)
//   timeout_ms=N  (a request that has no answer by then is lost)
//   count=N  (requests in total; 0: without end)
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
#include "engine/workload/histogram.h"
#include "packet/rewrite.h"
#include "request.h"
#include "workload.h"

namespace sluice::sched {

struct ClientWireOptions {
  WorkloadOptions workload;
  uint16_t port = 1025;
  uint32_t sockets = 64;
  uint32_t timeout_ms = 1000;
  uint64_t count = 0;
};

/// Reads what stands above. Nothing, with one line in `error`, if something is wrong.
[[gnu::visibility("default")]] std::optional<ClientWireOptions> ReadClientWireOptions(
    std::string_view text, uint64_t seed, std::string* error);

class ClientWire final : public emulator::Wire {
 public:
  /// `server`: the MAC address of the NIC.
  ClientWire(const ClientWireOptions& options, const packet::MacAddress& server);

  void Start(uint64_t now_ns) override;
  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  const emulator::WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override;

 private:
  /// Frames that may wait for the device; more requests wait in the schedule.
  static constexpr uint32_t kSlots = 64;
  static constexpr uint32_t kPayload = 42;  ///< Ethernet, IPv4, UDP.
  static constexpr uint32_t kFrameBytes = kPayload + kRequestBytes;
  /// Requests that may wait for answers, by the lower bits of their ids.
  static constexpr uint32_t kPending = 1u << 17;

  struct Pending {
    uint64_t due_ns = 0;
    uint32_t service_ns = 0;
    uint16_t flags = 0;
    uint8_t task_class = 0;
    bool waits = false;
    uint64_t id = 0;
  };

  /// A request that is due, if it may wait for its answer.
  bool MakeFrame(uint64_t now_ns);
  /// Gives up those that have waited for too long, oldest first.
  void Expire(uint64_t now_ns);
  void OnReply(uint64_t now_ns, const Reply& reply);

  ClientWireOptions options_;
  std::optional<Workload> workload_;  ///< From the first Start on.
  std::vector<Pending> pending_;
  uint64_t next_id_ = 0;    ///< Ids below were sent, or are about to be.
  uint64_t oldest_id_ = 0;  ///< Ids below have an answer or are given up.
  std::array<std::array<uint8_t, kFrameBytes>, kSlots> slots_{};
  /// Made and not yet taken, in order.
  std::vector<device::WireFrame> frames_;
  uint32_t first_slot_ = 0;  ///< Of frames_; they follow each other around.
  emulator::WireTotals totals_;
  std::vector<device::Counter> counters_;
  std::array<engine::workload::Histogram, 2> latency_;  ///< Short and long.
  uint64_t answers_ = 0;
  uint64_t wrong_ = 0;    ///< Of another class or other flags, or run for less than asked.
  uint64_t unknown_ = 0;  ///< Frames that are no replies.
  uint64_t late_ = 0;     ///< Answers to requests that were given up, or to none.
  uint64_t timeouts_ = 0;
  uint64_t cut_ = 0;
};

}  // namespace sluice::sched
