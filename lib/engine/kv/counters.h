// SPDX-License-Identifier: BSD-3-Clause
//
// Per-worker counters. Each worker writes its own counters; other threads may read them with
// relaxed loads (word.h) at any time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice::engine::kv {

struct ProtocolCounters {
  uint64_t requests = 0;
  uint64_t get_hits = 0, get_misses = 0;
  uint64_t stores = 0;  ///< Storage requests, except those with the result kTooLarge or kNoMemory.
  uint64_t sets = 0;    ///< Items that were created or replaced.
  uint64_t deletes = 0, delete_misses = 0;
  uint64_t touches = 0, touch_misses = 0;  ///< Includes get-and-touch, which does not count as get.
  uint64_t incr_hits = 0, incr_misses = 0;
  uint64_t decr_hits = 0, decr_misses = 0;
  uint64_t cas_hits = 0, cas_misses = 0, cas_badval = 0;
  uint64_t too_large = 0, no_memory = 0;
  uint64_t flushes = 0;
  uint64_t errors = 0;         ///< Requests answered with a client error.
  uint64_t refused_admin = 0;  ///< Refused flush_all, reset etc. from the network.
  /// Replies that were too long: an error or, for MICA, an answer without the value was sent.
  uint64_t cut_replies = 0;
};

/// A member of ProtocolCounters and its name in reports.
struct ProtocolCounter {
  std::string_view name;
  uint64_t ProtocolCounters::*member;
};

inline constexpr std::array kProtocolCounters{
    ProtocolCounter{"requests", &ProtocolCounters::requests},
    ProtocolCounter{"get_hits", &ProtocolCounters::get_hits},
    ProtocolCounter{"get_misses", &ProtocolCounters::get_misses},
    ProtocolCounter{"stores", &ProtocolCounters::stores},
    ProtocolCounter{"sets", &ProtocolCounters::sets},
    ProtocolCounter{"deletes", &ProtocolCounters::deletes},
    ProtocolCounter{"delete_misses", &ProtocolCounters::delete_misses},
    ProtocolCounter{"touches", &ProtocolCounters::touches},
    ProtocolCounter{"touch_misses", &ProtocolCounters::touch_misses},
    ProtocolCounter{"incr_hits", &ProtocolCounters::incr_hits},
    ProtocolCounter{"incr_misses", &ProtocolCounters::incr_misses},
    ProtocolCounter{"decr_hits", &ProtocolCounters::decr_hits},
    ProtocolCounter{"decr_misses", &ProtocolCounters::decr_misses},
    ProtocolCounter{"cas_hits", &ProtocolCounters::cas_hits},
    ProtocolCounter{"cas_misses", &ProtocolCounters::cas_misses},
    ProtocolCounter{"cas_badval", &ProtocolCounters::cas_badval},
    ProtocolCounter{"too_large", &ProtocolCounters::too_large},
    ProtocolCounter{"no_memory", &ProtocolCounters::no_memory},
    ProtocolCounter{"flushes", &ProtocolCounters::flushes},
    ProtocolCounter{"errors", &ProtocolCounters::errors},
    ProtocolCounter{"refused_admin", &ProtocolCounters::refused_admin},
    ProtocolCounter{"cut_replies", &ProtocolCounters::cut_replies}};
static_assert(sizeof(ProtocolCounters) == kProtocolCounters.size() * sizeof(uint64_t));

/// One worker's counters, except those of its partitions. Workers do not share cache lines.
struct alignas(64) ResponderCounters {
  ProtocolCounters mica;
  ProtocolCounters memcached;
  uint64_t handed_over = 0;  ///< Datagrams sent to another worker.
  uint64_t taken_over = 0;   ///< Datagrams received from another worker.
  uint64_t datagrams_sent = 0;
  /// Datagrams counted in taken_over that were lost because their partial answer did not fit into a
  /// handoff to the next worker.
  uint64_t lost_on_the_way = 0;
  uint64_t withheld = 0;  ///< Finished answers that exceeded the limit for their source.
};

}  // namespace sluice::engine::kv
