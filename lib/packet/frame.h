// SPDX-License-Identifier: BSD-3-Clause
//
// The interface between lib/engine, which decides what happens to frames, and lib/nic, which
// receives and transmits them.
#pragma once

#include <cstdint>

namespace sluice::packet {

/// One Ethernet frame without FCS, which an engine may read and rewrite in place. The interface
/// owns the memory, which is valid until the engine returns its verdict.
struct Frame {
  /// Room in bytes at `spare`: the maximum frame length of an Ensō NIC.
  static constexpr uint32_t kSpareBytes = 1536;

  uint8_t* data;      ///< First byte of the Ethernet header.
  uint32_t length;    ///< Length in bytes. An engine may change it within headroom and tailroom.
  uint32_t headroom;  ///< Writable bytes before `data`. 0 on a pipe.
  uint32_t tailroom;  ///< Writable bytes after `data + length`.
  /// Where the interface will copy a frame that does not fit in its buffer. An engine that builds
  /// the frame here, starting at the first byte, saves the copy. Writable until the verdict, or
  /// until the engine sends a frame by itself. Does not overlap `data`. Null if the interface has
  /// no fixed address for the copy.
  uint8_t* spare = nullptr;
};

/// Result of processing a frame. Every frame gets exactly one action.
enum class Action : uint8_t {
  kForward,  ///< Transmit through the port that received it.
  kConsume,  ///< The application has consumed the frame; transmit nothing.
  kDrop,     ///< Discard; counted under reason number `Verdict::reason`.
  kPass,     ///< Not for this application: send it to the exception port, if there is one.
};

/// An engine's decision. `reason` is an index into the engine's `kDropReasons` and is used only
/// with kDrop.
struct Verdict {
  Action action;
  uint8_t reason = 0;

  friend constexpr bool operator==(Verdict, Verdict) = default;
};

inline constexpr Verdict kForward{Action::kForward};
inline constexpr Verdict kConsume{Action::kConsume};
inline constexpr Verdict kPass{Action::kPass};
constexpr Verdict Drop(uint8_t reason) { return {Action::kDrop, reason}; }

/// Size of the frame check sequence in bytes. RFC 2544 frame sizes ("64-byte frame") include it;
/// `Frame::length` does not.
inline constexpr uint32_t kFcsBytes = 4;
/// Bytes that each frame occupies on the wire in addition to the frame and its FCS: preamble, start
/// delimiter and minimum inter-frame gap. Layer-1 rates in Gb/s include these bytes and the FCS.
inline constexpr uint32_t kWireOverheadBytes = 20;

}  // namespace sluice::packet
