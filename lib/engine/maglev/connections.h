// SPDX-License-Identifier: BSD-3-Clause
//
// The connection table of one worker: which backend a flow was given, so that it keeps it
// when the pool changes (Maglev, section 3.3). Bounded, allocated once; a bucket is one
// cache line of four entries, and a flow has two buckets.
//
// A flow is known by 64 bits of a keyed hash of its VIP and 5-tuple, not by the tuple: two
// of 2^20 flows meet with a probability of 2^-25, and then share a backend of one VIP
// (`owner` is compared too).
//
// What is replaced for a new flow: an empty entry, else an idle one (by its state's timeout),
// else one that is opening (SYN flood: floods replace floods). An established flow is never
// evicted; without room a flow is not recorded, and the ring alone decides about it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "engine/maglev/setup.h"

namespace sluice::engine::maglev {

/// Names a backend across table swaps: an index that is its own as long as it is in the
/// configuration, and a generation that changes when the index gets a new owner.
struct BackendRef {
  uint16_t index = 0;
  uint16_t generation = 0;  ///< 0: nobody.

  friend bool operator==(BackendRef, BackendRef) = default;
};

enum class ConnectionState : uint8_t { kEmpty, kOpening, kTcp, kClosing, kUdp };

/// 16 bytes; four of them a line.
struct Connection {
  uint64_t tag = 0;  ///< Keyed hash; see above.
  BackendRef backend;
  uint16_t seen_s = 0;  ///< Seconds, modulo 2^16: timeouts are below 32768 s.
  uint8_t owner = 0;    ///< Low bits of the VIP's index.
  ConnectionState state = ConnectionState::kEmpty;
};
static_assert(sizeof(Connection) == 16);

class ConnectionTable {
 public:
  /// At least `capacity` entries (rounded up to a power of two, at least 8).
  ConnectionTable(uint32_t capacity, const Timeouts& timeouts);

  struct Hit {
    uint32_t place;  ///< For Update, until the next Insert.
    Connection entry;
  };

  // The worker alone:

  /// Fetches the lines that Find(tag) will look at.
  void Prefetch(uint64_t tag) const;
  /// The live entry of a flow. An entry that is idle for longer than its timeout is none.
  std::optional<Hit> Find(uint64_t tag, uint8_t owner, uint32_t seconds) const;
  /// Records a flow that Find did not find. False: there is no room.
  bool Insert(const Connection& entry, uint32_t seconds);
  void Update(uint32_t place, const Connection& entry);
  void Remove(uint32_t place);

  /// A packet of the flow came: the entry's new state and time. kOpening → kTcp by the first
  /// packet without SYN; FIN or RST → kClosing; a SYN reopens what is closing.
  static void Touch(Connection& entry, bool syn, bool fin_or_rst, uint32_t seconds);

  // Any thread, at any time (entries are two words, read and written relaxed: figures, and
  // one entry in flight may be missed or seen half updated):

  uint32_t capacity() const;
  /// Adds the live entries of each backend index below counts.size(). Returns their number.
  uint64_t CountByBackend(std::span<uint32_t> counts, uint32_t seconds) const;
};

}  // namespace sluice::engine::maglev
