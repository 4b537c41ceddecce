// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-sched clients that act as the wire of a model NIC:
// wire=library:libsluice_sched_wire.so+OPTIONS. Requests are sent when they are due, independent of
// the server's answers (open loop). Latencies are measured from the due time, so they include
// stalls of the server. The counters are part of the wire's statistics. The clients use the time of
// the stepping thread, so latencies include the model's work.
//
//   rate=PER_SECOND  short_us=N  long_us=N  long_share=SHARE  runaway_share=SHARE  port=N
//   sockets=N  (source ports from 40000 on, so that RSS spreads them)
//   timeout_ms=N  (a request without an answer by then is lost)
//   count=N  (requests in total; 0: unlimited)
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

/// Parses the options described above. Returns nullopt and sets `error` if an option is invalid.
[[gnu::visibility("default")]] std::optional<ClientWireOptions> ReadClientWireOptions(
    std::string_view text, uint64_t seed, std::string* error);

class ClientWire final : public emulator::Wire {
 public:
  /// `server`: the NIC's MAC address.
  ClientWire(const ClientWireOptions& options, const packet::MacAddress& server);

  void Start(uint64_t now_ns) override;
  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  const emulator::WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override;

 private:
  /// Maximum number of frames that wait for the device; further requests wait in the schedule.
  static constexpr uint32_t kSlots = 64;
  static constexpr uint32_t kPayload = 42;  ///< Bytes of the Ethernet, IPv4 and UDP headers.
  static constexpr uint32_t kFrameBytes = kPayload + kRequestBytes;
  /// Maximum number of requests that wait for answers. They are indexed by the low bits of their
  /// IDs.
  static constexpr uint32_t kPending = 1u << 17;

  struct Pending {
    uint64_t due_ns = 0;
    uint32_t service_ns = 0;
    uint16_t flags = 0;
    uint8_t task_class = 0;
    bool waits = false;
    uint64_t id = 0;
  };

  /// Builds the frame of the next request if the request is due, `count` is not exceeded, and its
  /// slots in slots_ and pending_ are free. Returns whether it built one.
  bool MakeFrame(uint64_t now_ns);
  /// Counts requests that have waited too long as lost, oldest first.
  void Expire(uint64_t now_ns);
  void OnReply(uint64_t now_ns, const Reply& reply);

  ClientWireOptions options_;
  std::optional<Workload> workload_;  ///< Set by the first Start.
  std::vector<Pending> pending_;
  uint64_t next_id_ = 0;    ///< All lower ids are sent or in frames_.
  uint64_t oldest_id_ = 0;  ///< All lower ids are answered or lost.
  std::array<std::array<uint8_t, kFrameBytes>, kSlots> slots_{};
  /// Frames that are not consumed yet, in order.
  std::vector<device::WireFrame> frames_;
  /// Slot of the first frame; the frames use consecutive slots, modulo kSlots.
  uint32_t first_slot_ = 0;
  emulator::WireTotals totals_;
  std::vector<device::Counter> counters_;
  std::array<engine::workload::Histogram, 2> latency_;  ///< Latencies of short and long requests.
  uint64_t answers_ = 0;
  /// Replies with a wrong class or flags, or with less running time than requested.
  uint64_t wrong_ = 0;
  uint64_t unknown_ = 0;  ///< Frames that are not replies.
  uint64_t late_ = 0;     ///< Answers to requests that are unknown, lost or already answered.
  uint64_t timeouts_ = 0;
  uint64_t cut_ = 0;
};

}  // namespace sluice::sched
