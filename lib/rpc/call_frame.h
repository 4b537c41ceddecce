// SPDX-License-Identifier: BSD-3-Clause
//
// A call in an Ethernet frame and its reply, which is built in place of the call. Supports UDP over
// IPv4 without options or IPv6 without extension headers, after up to two VLAN tags.
#pragma once

#include <cstdint>

#include "packet/datagram.h"
#include "rpc/call.h"

namespace sluice::rpc {

/// Reason why a frame is not an executable call.
enum class FrameError : uint8_t {
  kNone,
  kNotUdp,       ///< Another protocol; not an error.
  kMalformed,    ///< An inconsistent length of Ethernet, IP or UDP.
  kFragment,     ///< A fragment of a larger datagram.
  kOptions,      ///< IPv4 options or IPv6 extension headers.
  kBadChecksum,  ///< Bad checksum of IPv4 or UDP.
  kCall,         ///< `CallFrame::error` is the error of the message.
};

/// A parsed frame. Its pointers refer to the bytes of the frame.
struct CallFrame {
  packet::Datagram datagram;                ///< Invalid after kNotUdp … kOptions.
  CallError error = CallError::kTruncated;  ///< Valid after kNone and kCall.
  Call call;                                ///< Valid as defined by `error`.

  /// Returns the offset of a reply's message in a frame with this frame's headers.
  uint32_t reply_at() const { return datagram.payload; }
};

/// Parses the `length` bytes of an Ethernet frame, without FCS, and reads no other bytes. Checks
/// every length, IPv4's checksum, and UDP's if present. The caller checks addresses and port.
FrameError ReadCallFrame(const uint8_t* frame, uint32_t length, CallFrame* read);

/// Changes the headers at `frame` from those of the call to those of a reply. The reply's message
/// of `bytes` bytes, at most Datagram::MostAnswerBytes, must be at reply_at(). Returns the frame's
/// length.
inline uint32_t FinishReply(uint8_t* frame, const CallFrame& read, uint32_t bytes) {
  read.datagram.Answer(frame, bytes);
  return read.reply_at() + bytes;
}

}  // namespace sluice::rpc
