// SPDX-License-Identifier: BSD-3-Clause
//
// How an engine sends frames of its own, beyond the one answer to a received frame: replies of
// several frames, replies to what another worker received. Part of the vocabulary between
// lib/engine and lib/nic (frame.h).
#pragma once

#include <concepts>
#include <cstdint>

namespace sluice::packet {

/// A way out, lent by the interface to the engine of one worker, valid as long as the engine
/// works. A value; used by that worker only, while the engine handles a frame or rests.
///
/// Frames leave in the order in which they were sent: after the answers to frames that the engine
/// handled before, and before the answer to the frame that it handles. Frames of a burst that it
/// did not answer have no place in this order, and neither have frames of other pipes.
class Outbox {
 public:
  /// Leads nowhere: takes nothing.
  constexpr Outbox() = default;
  /// To `interface.Send(frame, length)`, which outlives this.
  template <typename Interface>
  static constexpr Outbox To(Interface& interface) {
    Outbox outbox;
    outbox.context_ = &interface;
    outbox.send_ = [](void* context, const uint8_t* frame, uint32_t length) {
      return static_cast<Interface*>(context)->Send(frame, length);
    };
    return outbox;
  }

  /// Sends a copy of one Ethernet frame of `length` bytes, without FCS. False: not sent, and
  /// counted by the interface; true: on its way, unless the transmit side turns out to be stuck.
  bool Send(const uint8_t* frame, uint32_t length) const { return send_(context_, frame, length); }

 private:
  void* context_ = nullptr;
  bool (*send_)(void* context, const uint8_t* frame,
                uint32_t length) = [](void*, const uint8_t*, uint32_t) { return false; };
};

/// An engine that sends frames of its own. It is given its outbox once, before all else.
template <typename E>
concept Sender = requires(E engine, Outbox outbox) {
  engine.set_outbox(outbox);
};

}  // namespace sluice::packet
