// SPDX-License-Identifier: BSD-3-Clause
//
// Lets an engine send frames in addition to the single answer to a received frame, such as replies
// that consist of several frames, or replies to frames that another worker received. Part of the
// interface between lib/engine and lib/nic (frame.h).
#pragma once

#include <cstdint>

namespace sluice::packet {

/// Transmit function that the interface provides for the engine of one worker; valid while the
/// engine runs. Copyable. Only that worker may use it, while the engine processes a frame or in
/// AtRest.
///
/// Frames are transmitted in the order of the calls, after the answers to earlier frames and before
/// the answer to the current frame. Their order relative to unanswered frames of a burst, and to
/// frames of other pipes, is undefined.
class Outbox {
 public:
  /// Rejects all frames.
  constexpr Outbox() = default;
  /// Returns an outbox that calls `interface.Send(frame, length)`. `interface` must outlive the
  /// outbox.
  template <typename Interface>
  static constexpr Outbox To(Interface& interface) {
    Outbox outbox;
    outbox.context_ = &interface;
    if constexpr (requires { interface.counters().tx_full; }) {
      outbox.unsent_ = &interface.counters().tx_full;
    }
    outbox.send_ = [](void* context, const uint8_t* frame, uint32_t length) {
      return static_cast<Interface*>(context)->Send(frame, length);
    };
    return outbox;
  }

  /// Sends a copy of one Ethernet frame of `length` bytes, without FCS. Returns true if the frame
  /// is queued; it may still be lost if the transmit side is stuck. Returns false if the frame is
  /// not sent, in which case the interface counts it.
  bool Send(const uint8_t* frame, uint32_t length) const { return send_(context_, frame, length); }
  /// Returns the number of frames that the interface has not sent for lack of room, including those
  /// for which Send returned true. Always 0 if the interface does not count them.
  uint64_t unsent() const { return unsent_ != nullptr ? *unsent_ : 0; }

 private:
  void* context_ = nullptr;
  const uint64_t* unsent_ = nullptr;
  bool (*send_)(void* context, const uint8_t* frame,
                uint32_t length) = [](void*, const uint8_t*, uint32_t) { return false; };
};

}  // namespace sluice::packet
