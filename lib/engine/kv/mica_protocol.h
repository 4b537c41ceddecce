// SPDX-License-Identifier: BSD-3-Clause
//
// The server side of MICA's protocol (mica_format.h).
//
//   operation    answers in addition to Success
//   NoopRead, NoopWrite
//   Set          InsufficientSpace
//   Add          InsufficientSpace, Exists
//   Get          NotFound, PartialValue
//   Test         NotFound
//   Delete       NotFound
//   Increment    NotFound, PartialValue, InsufficientSpace. The value is the number to add,
//                8 bytes, and the answer has the sum modulo 2^64; Error if a length differs.
//   Reset        always NotSupported: the network must not clear a store
//   others       NotSupported
//
// A key of 0 or more than kMaxKeyBytes bytes is answered with Error. Every request is answered, in
// order, with its operation, hash and opaque and without a key. If the answer has no room for a
// value, the value is omitted completely and the result is PartialValue; an Increment was executed
// nevertheless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"
#include "engine/kv/mica_format.h"

namespace sluice::engine::kv {

/// A request in a datagram, planned before it is served. Its lengths are read only once, because
/// memory shared with a NIC may change.
struct MicaStep {
  Home home;             ///< Location of the key; arbitrary for a request without a key.
  const Bucket* bucket;  ///< First bucket of the key.
  const Slot* likely;    ///< Probable slot of the item; undefined until FetchItem.
  const uint8_t* message;
  MicaLengths lengths;
  uint32_t tiny_get;  ///< 1 if the message began with kMicaTinyGet and the worker owns the key.

  /// First prefetch stage of a lookup: finds and prefetches the bucket. Sets `bucket`.
  void FetchBucket() {
    bucket = &home.partition->BucketOf(home.index);
    __builtin_prefetch(bucket);
  }
  /// Second prefetch stage: prefetches the item.
  void FetchItem() { likely = home.partition->PrefetchLikely(*bucket, home.index); }
};

/// Prefetches the items of consecutive steps several requests before each step is served, across
/// the current and later datagrams.
class ItemsAhead {
 public:
  /// Maximum distance in steps between an item's prefetch and its use.
  static constexpr uint32_t kSteps = 32;

  /// Starts at step `first`; the range is still empty.
  void Begin(MicaStep* first) { next_ = end_ = first; }
  void set_end(MicaStep* end) { end_ = end; }
  /// Prefetches the items of the next kSteps steps. Must be called before `step` is served.
  void Fetch(const MicaStep* step) {
    const MicaStep* const upto = end_ - step > std::ptrdiff_t{kSteps} ? step + kSteps : end_;
    if (next_ < upto) FetchUpTo(upto);
  }

 private:
  void FetchUpTo(const MicaStep* upto);

  MicaStep* next_ = nullptr;  ///< Next step to prefetch.
  MicaStep* end_ = nullptr;
};

/// Finds the requests in a datagram from offset `position` on and prefetches the buckets of their
/// keys. `steps` has room for kMicaMaxMessages. Returns the number of requests; 0 if the datagram
/// is invalid.
uint32_t PlanMica(Bytes datagram, size_t position, const Access& access, MicaStep* steps);

/// Serves a datagram. `steps` are its requests from exchange.position on, and `ahead` must cover
/// them. Returns kRefused without executing anything if `steps` is empty or if the answers would
/// not fit even without values. The second case cannot occur if answers may be as long as their
/// requests. A reply that overwrites its requests stays in their memory if possible.
Progress ServeMica(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters,
                   std::span<const MicaStep> steps, ItemsAhead& ahead);

/// Plans and serves a datagram.
Progress ServeMica(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters);

}  // namespace sluice::engine::kv
