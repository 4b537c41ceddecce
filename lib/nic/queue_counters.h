// SPDX-License-Identifier: BSD-3-Clause
//
// The counters of a queue, and the only table of these counters, which reports, telemetry and
// metrics iterate over.
//
// Conservation law: whenever no Poll is running,
//
//   rx_pkts + sent_pkts = tx_pkts + consumed_pkts + Σ engine_drops + Σ counters marked `drop`.
//
// A frame that waits to be transmitted counts as transmitted until its transmission fails.
//
// `rx_desync` is not part of this law, because flits without a recognizable frame cannot be counted
// in frames. On a streaming interface, the number of bytes that the NIC reported obeys another law:
//
//   notified bytes = 64 · (Σ over received frames of ⌈length / 64⌉ + rx_desync).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace sluice::nic {

/// A number of frames and their total bytes.
struct FrameTotals {
  uint64_t pkts = 0;
  uint64_t bytes = 0;

  FrameTotals& operator+=(const FrameTotals& more) {
    pkts += more.pkts;
    bytes += more.bytes;
    return *this;
  }
};

/// Totals of one queue. Only the owning worker writes them, through Add. Other threads read them
/// through Load and may see slightly outdated values. kQueueCounters describes each member.
struct QueueCounters {
  static constexpr uint32_t kMaxReasons = 32;

  uint64_t rx_pkts = 0;
  uint64_t rx_bytes = 0;
  uint64_t sent_pkts = 0;
  uint64_t tx_pkts = 0;
  uint64_t tx_bytes = 0;
  uint64_t consumed_pkts = 0;
  uint64_t passed_pkts = 0;
  uint64_t reassembled_pkts = 0;
  uint64_t engine_drops[kMaxReasons] = {};  ///< Indexed by the engine's drop reason.
  uint64_t rx_scattered = 0;
  uint64_t rx_bad_entry = 0;
  uint64_t tx_full = 0;
  uint64_t tx_unframeable = 0;
  uint64_t no_exception_port = 0;
  uint64_t rx_desync = 0;

  /// Adds to one of the totals. Only the owner may call it. The sum wraps like any unsigned sum, so
  /// a correction can be added as its two's complement.
  static void Add(uint64_t& total, uint64_t amount) {
    std::atomic_ref<uint64_t>(total).store(total + amount, std::memory_order_relaxed);
  }
  /// Reads one of the totals from any thread.
  static uint64_t Load(const uint64_t& total) {
    return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(total)).load(std::memory_order_relaxed);
  }
  /// Counts frames that were emitted together. Only the owner may call it. Returns their number.
  uint32_t AddEmitted(FrameTotals left) {
    Add(sent_pkts, left.pkts);
    Add(tx_pkts, left.pkts);
    Add(tx_bytes, left.bytes);
    return static_cast<uint32_t>(left.pkts);
  }
  /// Returns a copy. May be called by any thread while the owner works.
  QueueCounters Snapshot() const;
  QueueCounters& operator+=(const QueueCounters& other);

  /// Returns the number of dropped frames: the sum of all counters marked `drop` and the engine's
  /// drops.
  uint64_t DroppedPkts() const;
  /// Returns whether the conservation law holds. Exact only after the last Poll.
  bool Conserved() const { return rx_pkts + sent_pkts == tx_pkts + consumed_pkts + DroppedPkts(); }
};

/// One row of the counter table.
struct QueueCounter {
  const char* name;  ///< Name in JSON and telemetry. It ends with the unit, except for drops.
  const char* help;  ///< One sentence.
  uint64_t QueueCounters::*member;
  bool drop = false;  ///< Whether the counter is a drop term of the conservation law.
};

/// All counters except the engine's drops, whose names the engine defines.
inline constexpr std::array kQueueCounters{
    QueueCounter{"rx_pkts", "Frames received by the workers.", &QueueCounters::rx_pkts},
    QueueCounter{"sent_pkts",
                 "Frames that the application sent or tried to send, beyond one answer per frame.",
                 &QueueCounters::sent_pkts},
    QueueCounter{"tx_pkts", "Frames sent: answers and frames that the application originated.",
                 &QueueCounters::tx_pkts},
    QueueCounter{"consumed_pkts", "Frames that the application consumed, instead of sending them.",
                 &QueueCounters::consumed_pkts},
    QueueCounter{"passed_pkts", "Consumed frames that were sent through the exception port.",
                 &QueueCounters::passed_pkts},
    QueueCounter{"reassembled_pkts",
                 "Datagrams reassembled; all their fragments except the last are consumed.",
                 &QueueCounters::reassembled_pkts},
    QueueCounter{"rx_bytes",
                 "Bytes received, without FCS and, if streaming, without Ethernet padding.",
                 &QueueCounters::rx_bytes},
    QueueCounter{"tx_bytes", "Bytes sent, without FCS and, if streaming, without Ethernet padding.",
                 &QueueCounters::tx_bytes},
    QueueCounter{
        "rx_scattered",
        "Packetized: frames dropped because they span several buffers and do not fit into one.",
        &QueueCounters::rx_scattered, true},
    QueueCounter{"rx_bad_entry", "Bilateral: entries that describe no frame in their region.",
                 &QueueCounters::rx_bad_entry, true},
    QueueCounter{"tx_full", "Frames not sent because the transmit queue was full or returned them.",
                 &QueueCounters::tx_full, true},
    QueueCounter{"tx_unframeable", "Frames not sent because this NIC cannot delimit them.",
                 &QueueCounters::tx_unframeable, true},
    QueueCounter{"no_exception_port",
                 "Frames that the engine passed on although no exception port is set.",
                 &QueueCounters::no_exception_port, true},
    QueueCounter{"rx_desync_flits",
                 "Streaming: 64-byte flits that belong to no recognizable frame.",
                 &QueueCounters::rx_desync}};
static_assert(sizeof(QueueCounters) ==
                  (QueueCounters::kMaxReasons + kQueueCounters.size()) * sizeof(uint64_t),
              "each member of QueueCounters needs a row");

}  // namespace sluice::nic
