// SPDX-License-Identifier: BSD-3-Clause
//
// A datagram on its way to the worker that may serve what is left of it.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>

#include "engine/kv/exchange.h"
#include "packet/datagram.h"

namespace sluice::engine::kv {

struct Parcel {
  static constexpr uint32_t kMaxFrameBytes = 2048;
  static constexpr uint32_t kMaxReplyBytes = 16384;

  packet::Datagram datagram;  ///< Of the frame; the first worker has checked it.
  uint32_t reply_bytes = 0;  ///< The answer so far.
  Exchange exchange;         ///< Its `datagram` is that of the worker that serves it.
  std::array<uint8_t, kMaxFrameBytes> frame;
  std::array<uint8_t, kMaxReplyBytes> reply;
};

/// How parcels get from worker to worker. Each worker has one, and calls it alone.
template <typename C>
concept Courier = requires(C courier, Parcel* parcel, uint32_t worker) {
  /// One to fill in, or null: all are under way.
  { courier.Empty() } -> std::same_as<Parcel*>;
  /// To another worker. Parcels that came out of Empty or Receive always find room.
  { courier.Send(worker, parcel) };
  /// The next one for this worker, or null.
  { courier.Receive() } -> std::same_as<Parcel*>;
  /// Gives it back, for Empty.
  { courier.Return(parcel) };
};

}  // namespace sluice::engine::kv
