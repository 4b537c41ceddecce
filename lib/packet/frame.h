// SPDX-License-Identifier: BSD-3-Clause
//
// What an engine sees of a frame and what it says about it: the vocabulary
// between lib/engine (which decides) and lib/nic (which receives and answers).
#pragma once

#include <cstdint>

namespace sluice::packet {

/// One Ethernet frame, without FCS, that an engine may read and rewrite in
/// place. The memory belongs to the interface that lent it and is valid until
/// the engine returns its verdict.
struct Frame {
  /// Bytes at `spare`: as many as an Ensō NIC can send as one frame.
  static constexpr uint32_t kSpareBytes = 1536;

  uint8_t* data;      ///< First byte of the Ethernet header.
  uint32_t length;    ///< Bytes of the frame; an engine may change it within the room it has.
  uint32_t headroom;  ///< Writable bytes before `data`. 0 on a pipe.
  uint32_t tailroom;  ///< Writable bytes after `data + length`.
  /// Where the interface would copy a frame that outgrows its room: an engine that builds the
  /// frame here, from the first byte on, saves the copy. Writable, apart from `data`, until the
  /// verdict or until the engine sends a frame by itself; null: there is no such place.
  uint8_t* spare = nullptr;
};

/// How a frame ends. Every frame has exactly one ending.
enum class Action : uint8_t {
  kForward,  ///< Leaves through the port it came from.
  kConsume,  ///< The application kept what it wanted; nothing leaves.
  kDrop,     ///< Discarded under the named counter `Verdict::reason`.
  kPass,     ///< Not for this application: leaves through the exception port, if there is one.
};

/// An engine's decision. `reason` indexes the engine's `kDropReasons` and has a
/// meaning only with kDrop.
struct Verdict {
  Action action;
  uint8_t reason = 0;

  friend constexpr bool operator==(Verdict, Verdict) = default;
};

inline constexpr Verdict kForward{Action::kForward};
inline constexpr Verdict kConsume{Action::kConsume};
inline constexpr Verdict kPass{Action::kPass};
constexpr Verdict Drop(uint8_t reason) { return {Action::kDrop, reason}; }

/// Bytes of the frame check sequence: part of a frame size as RFC 2544 counts it
/// ("64-byte frame"), never part of `Frame::length`.
inline constexpr uint32_t kFcsBytes = 4;
/// Preamble, start delimiter and minimum inter-frame gap: what a frame costs on
/// the wire beyond its bytes and FCS. Rates in Gb/s count both (layer 1).
inline constexpr uint32_t kWireOverheadBytes = 20;

}  // namespace sluice::packet
