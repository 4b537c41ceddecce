// SPDX-License-Identifier: BSD-3-Clause
//
// A datagram that one worker passes to the worker that may serve its remaining requests.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>

#include "engine/kv/exchange.h"
#include "packet/datagram.h"

namespace sluice::engine::kv {

/// A handoff belongs to the worker that allocated or received it, until that worker sends or frees
/// it.
struct Handoff {
  /// Maximum size of a frame; also applies to reassembled datagrams.
  static constexpr uint32_t kMaxFrameBytes = 16384;
  static constexpr uint32_t kMaxReplyBytes = 16384;

  packet::Datagram datagram;  ///< Headers of the frame, checked by the first worker.
  uint32_t reply_bytes = 0;   ///< Bytes of the partial answer.
  Exchange exchange;          ///< The receiving worker updates `exchange.datagram`.
  std::array<uint8_t, kMaxFrameBytes> frame;
  std::array<uint8_t, kMaxReplyBytes> reply;
};

/// Passes handoffs between workers. Each worker has a queue object, which only this worker may
/// call.
template <typename Q>
concept HandoffQueue = requires(Q queue, Handoff* handoff, uint32_t worker) {
  /// Returns a handoff to fill in, or null if all are in use.
  { queue.Allocate() } -> std::same_as<Handoff*>;
  /// Sends to another worker. There is always room for handoffs that Allocate or Receive returned.
  {queue.Send(worker, handoff)};
  /// Returns the next handoff for this worker, or null.
  { queue.Receive() } -> std::same_as<Handoff*>;
  /// Frees a handoff, so that Allocate can return it again.
  {queue.Free(handoff)};
};

}  // namespace sluice::engine::kv
