// SPDX-License-Identifier: BSD-3-Clause
//
// Counters of the host's TCP stack, for reports and metrics.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "transport/stack.h"

namespace sluice::engine {

/// Counters of one worker. The worker updates them every transport::Stack::kTickNs and when it
/// ends. Any thread may read them with Load.
struct TcpCounts : transport::StackCounters {
  uint64_t open = 0;              ///< Connections that are open now.
  uint64_t rx_bytes = 0;          ///< Bytes received in order.
  uint64_t tx_bytes = 0;          ///< Bytes written by the engine.
  uint64_t discarded_bytes = 0;   ///< Bytes received that no engine consumed.
  uint64_t request_too_long = 0;  ///< Connections aborted because the engine made no progress.
  uint64_t memory_limit = 0;      ///< Connections aborted at the limit of unread bytes.
};

/// One row of the counter table.
struct TcpCounter {
  const char* name;  ///< Name in reports.
  const char* help;  ///< One sentence.
  uint64_t TcpCounts::*member;
};

inline constexpr std::array kTcpCounters{
    TcpCounter{"open", "Connections that are open.", &TcpCounts::open},
    TcpCounter{"opened", "Connections that were established.", &TcpCounts::opened},
    TcpCounter{"refused", "SYN segments refused by a limit or by the application.",
               &TcpCounts::refused},
    TcpCounter{"finished", "Connections that both ends closed.", &TcpCounts::finished},
    TcpCounter{"reset", "Connections that the peer reset.", &TcpCounts::reset},
    TcpCounter{"timed_out", "Connections whose peer did not answer in time.",
               &TcpCounts::timed_out},
    TcpCounter{"aborted", "Connections that this end reset.", &TcpCounts::aborted},
    TcpCounter{"request_too_long", "Connections aborted because of a request that is too long.",
               &TcpCounts::request_too_long},
    TcpCounter{"memory_limit", "Connections aborted at the limit of unread bytes.",
               &TcpCounts::memory_limit},
    TcpCounter{"rx_bytes", "Bytes received in order.", &TcpCounts::rx_bytes},
    TcpCounter{"tx_bytes", "Bytes that the application sent.", &TcpCounts::tx_bytes},
    TcpCounter{"discarded_bytes", "Bytes received that the application did not consume.",
               &TcpCounts::discarded_bytes},
    TcpCounter{"rx_segments", "TCP segments received.", &TcpCounts::rx_segments},
    TcpCounter{"tx_segments", "TCP segments sent.", &TcpCounts::tx_segments},
    TcpCounter{"retransmitted", "Segments sent again.", &TcpCounts::retransmitted},
    TcpCounter{"bad_segments", "Segments with a wrong checksum or length.",
               &TcpCounts::bad_segments},
    TcpCounter{"output_failed", "Segments that the interface had no room for.",
               &TcpCounts::output_failed},
    TcpCounter{"no_memory", "Times at which TCP had no memory for a segment.",
               &TcpCounts::no_memory},
};
static_assert(sizeof(TcpCounts) == kTcpCounters.size() * sizeof(uint64_t));

/// Reads a counter from any thread.
inline uint64_t Load(const TcpCounts& counts, uint64_t TcpCounts::*member) {
  return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(counts.*member))
      .load(std::memory_order_relaxed);
}
/// Copies all counters. `to` belongs to the calling thread.
inline void Publish(const TcpCounts& from, TcpCounts& to) {
  for (const TcpCounter& row : kTcpCounters) {
    std::atomic_ref<uint64_t>(to.*row.member).store(from.*row.member, std::memory_order_relaxed);
  }
}

}  // namespace sluice::engine
