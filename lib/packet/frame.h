// SPDX-License-Identifier: BSD-3-Clause
//
// The interface between lib/engine, which decides about frames, and lib/nic, which receives and
// transmits them.
#pragma once

#include <cstdint>

namespace sluice::packet {

/// One Ethernet frame, without FCS, that an engine may read and rewrite in place. The interface
/// owns the memory, which is valid until the engine returns its verdict.
struct Frame {
  /// Bytes at `spare`: the design limit of an Ensō NIC's frames.
  static constexpr uint32_t kSpareBytes = 1536;

  uint8_t* data;      ///< First byte of the Ethernet header.
  uint32_t length;    ///< Bytes of the frame; an engine may change it within headroom and tailroom.
  uint32_t headroom;  ///< Writable bytes before `data`. 0 on a pipe.
  uint32_t tailroom;  ///< Writable bytes after `data + length`.
  /// Destination of the interface's copy if a frame outgrows its buffer. An engine that builds the
  /// frame here, starting at the first byte, saves the copy. Writable until the verdict or until
  /// the engine sends a frame by itself; does not overlap `data`. Null if the interface has no
  /// fixed destination.
  uint8_t* spare = nullptr;
};

/// Result of processing a frame. Every frame gets exactly one action.
enum class Action : uint8_t {
  kForward,  ///< Transmit through the port that received it.
  kConsume,  ///< The application has consumed the frame; transmit nothing.
  kDrop,     ///< Discard; counted under reason number `Verdict::reason`.
  kPass,     ///< Not for this application: send to the exception port, if there is one.
};

/// An engine's decision. `reason` is an index in the engine's `kDropReasons`; only for kDrop.
struct Verdict {
  Action action;
  uint8_t reason = 0;

  friend constexpr bool operator==(Verdict, Verdict) = default;
};

inline constexpr Verdict kForward{Action::kForward};
inline constexpr Verdict kConsume{Action::kConsume};
inline constexpr Verdict kPass{Action::kPass};
constexpr Verdict Drop(uint8_t reason) { return {Action::kDrop, reason}; }

/// Bytes of the frame check sequence. RFC 2544 frame sizes ("64-byte frame") include it;
/// `Frame::length` does not.
inline constexpr uint32_t kFcsBytes = 4;
/// Preamble, start delimiter and minimum inter-frame gap: bytes per frame on the wire in addition
/// to frame and FCS. Layer-1 rates in Gb/s include these bytes and the FCS.
inline constexpr uint32_t kWireOverheadBytes = 20;

}  // namespace sluice::packet
