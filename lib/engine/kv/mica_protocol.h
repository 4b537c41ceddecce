// SPDX-License-Identifier: BSD-3-Clause
//
// MICA's protocol (mica_format.h), the server's half.
//
//   operation    answers besides Success
//   NoopRead, NoopWrite
//   Set          InsufficientSpace
//   Add          InsufficientSpace, Exists
//   Get          NotFound, PartialValue
//   Test         NotFound
//   Delete       NotFound
//   Increment    NotFound, PartialValue, InsufficientSpace. The value is the number to add,
//                8 bytes, and the answer has the sum modulo 2^64; Error if either is not one.
//   Reset        NotSupported, always: nobody wipes a store from the network
//   others       NotSupported
//
// Error also answers keys of 0 or more than kMaxKeyBytes bytes. Every request gets its answer,
// in order: operation, hash and opaque as they came, no key. A value for which the answer has
// no room is left out: PartialValue, with no byte of it, and Increment has been done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"
#include "engine/kv/mica_format.h"

namespace sluice::engine::kv {

/// A request that was found in a datagram before its turn. Lengths are read once: memory that a NIC
/// shares may change.
struct MicaStep {
  Home home;             ///< Of its key; of a request without one, anything.
  const Bucket* bucket;  ///< Of its key at home.
  const Slot* likely;    ///< From FetchItem on: where the item is, probably.
  uint32_t position;     ///< Of its message in the datagram.
  MicaLengths lengths;

  /// The first of the two stages of a lookup's fetches: that of the bucket.
  static MicaStep Of(const Home& home, uint32_t position = 0, MicaLengths lengths = {}) {
    const Bucket* const bucket = &home.partition->BucketOf(home.index);
    __builtin_prefetch(bucket);
    return {home, bucket, nullptr, position, lengths};
  }
  /// The second.
  void FetchItem() { likely = home.partition->PrefetchLikely(*bucket, home.index); }
};

/// Fetches the items of steps that lie behind one another, of this datagram and of those after it,
/// some requests before their turn.
class ItemsAhead {
 public:
  static constexpr uint32_t kSteps = 32;  ///< Between an item's fetch and its use, at most.

  /// Of the steps from `first` on, of which there are none yet.
  void Begin(MicaStep* first) { next_ = end_ = first; }
  /// The last of them is the one before `end`.
  void set_end(MicaStep* end) { end_ = end; }
  /// `step` is about to be served.
  void Fetch(const MicaStep* step) {
    const MicaStep* const upto = end_ - step > std::ptrdiff_t{kSteps} ? step + kSteps : end_;
    if (next_ < upto) FetchUpTo(upto);
  }

 private:
  void FetchUpTo(const MicaStep* upto);

  MicaStep* next_ = nullptr;  ///< To be fetched.
  MicaStep* end_ = nullptr;
};

/// Finds the requests of a datagram from Exchange::position on, and fetches the buckets of their
/// keys. `steps` has room for kMicaMaxMessages. Returns how many there are; 0: the datagram is not
/// whole.
uint32_t PlanMica(Bytes datagram, size_t position, const Access& access, MicaStep* steps);

/// Serves a datagram whose requests from exchange.position on are `steps`, which are among those
/// that `ahead` fetches items of. Refused, before anything is done: a datagram without steps, and
/// one whose answers would not fit even without values, which cannot happen if answers may be as
/// long as their requests. A reply over its requests stays there if it can.
Progress ServeMica(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters,
                   std::span<const MicaStep> steps, ItemsAhead& ahead);

/// Plans a datagram, and serves it.
Progress ServeMica(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters);

}  // namespace sluice::engine::kv
