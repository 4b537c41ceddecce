// SPDX-License-Identifier: BSD-3-Clause
//
// Parses a call in an Ethernet frame, and builds the reply in its place. Supports UDP over IPv4
// without options or IPv6 without extension headers, with up to two VLAN tags.
#pragma once

#include <cstdint>

#include "packet/datagram.h"
#include "rpc/call.h"

namespace sluice::rpc {

/// Why a frame is not an executable call.
enum class FrameError : uint8_t {
  kNone,
  kNotUdp,       ///< Another protocol; not an error.
  kMalformed,    ///< An Ethernet, IP or UDP length is inconsistent.
  kFragment,     ///< A fragment of a larger datagram.
  kOptions,      ///< IPv4 options or IPv6 extension headers.
  kBadChecksum,  ///< The IPv4 or UDP checksum is wrong.
  kCall,         ///< `CallFrame::error` contains the error.
};

/// A parsed frame. Its pointers refer to the bytes of the frame.
struct CallFrame {
  packet::Datagram datagram;                ///< Invalid after kNotUdp … kOptions.
  CallError error = CallError::kTruncated;  ///< Valid after kNone and kCall.
  Call call;                                ///< Valid as defined by `error`.

  /// Returns the offset of the reply message in a frame that has this frame's headers.
  uint32_t reply_at() const { return datagram.payload; }
};

/// Parses the `length` bytes of an Ethernet frame, without FCS, and reads no other bytes. Checks
/// every length, the IPv4 checksum, and the UDP checksum if present. The caller must check
/// addresses and port.
FrameError ReadCallFrame(const uint8_t* frame, uint32_t length, CallFrame* read);

/// Changes the headers at `frame` from those of the call to those of a reply. The reply message of
/// `bytes` bytes, at most Datagram::MostAnswerBytes, must be at reply_at(). Returns the frame's
/// length.
inline uint32_t FinishReply(uint8_t* frame, const CallFrame& read, uint32_t bytes) {
  read.datagram.Answer(frame, bytes);
  return read.reply_at() + bytes;
}

}  // namespace sluice::rpc
