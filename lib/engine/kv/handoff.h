// SPDX-License-Identifier: BSD-3-Clause
//
// A datagram handed over to the worker that may serve what is left of it.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>

#include "engine/kv/exchange.h"
#include "packet/datagram.h"

namespace sluice::engine::kv {

/// Belongs to the worker that allocated or received it, until it sends or frees it.
struct Handoff {
  /// Of datagrams that were put together, too.
  static constexpr uint32_t kMaxFrameBytes = 16384;
  static constexpr uint32_t kMaxReplyBytes = 16384;

  packet::Datagram datagram;  ///< Of the frame; the first worker has checked it.
  uint32_t reply_bytes = 0;   ///< The answer so far.
  Exchange exchange;          ///< Its `datagram` is that of the worker that serves it.
  std::array<uint8_t, kMaxFrameBytes> frame;
  std::array<uint8_t, kMaxReplyBytes> reply;
};

/// How handoffs get from worker to worker. Each worker has one, and calls it alone.
template <typename Q>
concept HandoffQueue = requires(Q queue, Handoff* handoff, uint32_t worker) {
  /// One to fill in, or null: all are under way.
  { queue.Allocate() } -> std::same_as<Handoff*>;
  /// To another worker. Handoffs that came out of Allocate or Receive always find room.
  {queue.Send(worker, handoff)};
  /// The next one for this worker, or null.
  { queue.Receive() } -> std::same_as<Handoff*>;
  /// Gives it back, for Allocate.
  {queue.Free(handoff)};
};

}  // namespace sluice::engine::kv
