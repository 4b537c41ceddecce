// SPDX-License-Identifier: BSD-3-Clause
//
// A call in an Ethernet frame: IPv4 without options or IPv6 without extension headers, UDP, behind
// up to two VLAN tags; and its reply, built where the call was.
#pragma once

#include <cstdint>
#include <string_view>

#include "packet/datagram.h"
#include "rpc/call.h"

namespace sluice::rpc {

/// Why a frame is no call to execute.
enum class FrameError : uint8_t {
  kNone,
  kNotUdp,       ///< Neither for nor against us: another protocol.
  kMalformed,    ///< A length of Ethernet, IP or UDP that lies.
  kFragment,     ///< Of a larger datagram.
  kOptions,      ///< IPv4 options or IPv6 extension headers.
  kBadChecksum,  ///< IPv4's or UDP's.
  kCall,         ///< `CallFrame::error` says what is wrong with the message.
};

/// Static text of an error, lower case, for counters and messages.
std::string_view FrameErrorName(FrameError error);

/// A frame that has been read. Points into the frame.
struct CallFrame {
  packet::Datagram datagram;                ///< Not after kNotUdp, kMalformed … kOptions.
  CallError error = CallError::kTruncated;  ///< After kNone and kCall.
  Call call;                                ///< As far as `error` says.

  /// Where a reply's message begins in a frame with this one's headers.
  uint32_t reply_at() const { return datagram.payload; }
};

/// Reads the `length` bytes of an Ethernet frame, without FCS; never beyond them. Checks every
/// length, IPv4's checksum, and UDP's where there is one. Whether addresses and port are ours is
/// for the caller to say.
FrameError ReadCallFrame(const uint8_t* frame, uint32_t length, CallFrame* read);

/// Makes the headers at `frame`, which are those of the call, the headers of a reply whose message
/// of `bytes` bytes, at most Datagram::MostAnswerBytes, lies at reply_at(). Returns the frame's
/// length.
inline uint32_t FinishReply(uint8_t* frame, const CallFrame& read, uint32_t bytes) {
  read.datagram.Answer(frame, bytes);
  return read.reply_at() + bytes;
}

}  // namespace sluice::rpc
