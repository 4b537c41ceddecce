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

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"

namespace sluice::engine::kv {

/// Serves a datagram. Refused, before anything is done: a datagram that is not whole, and one
/// whose answers would not fit even without values, which cannot happen if answers may be as
/// long as their requests.
/// `known`: of the key of the first request, maybe; its lines are being fetched. Or null.
Progress ServeMica(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters,
                   const KnownHome* known = nullptr);

}  // namespace sluice::engine::kv
