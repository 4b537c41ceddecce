// SPDX-License-Identifier: BSD-3-Clause
//
// The client side of ONC-RPC version 2 (RFC 5531 section 9): writes calls and parses replies. Used
// by traffic generators, and by services that call other services.
#pragma once

#include <cstdint>
#include <string_view>

#include "rpc/message.h"

namespace sluice::rpc {

/// Bytes of the header of a call with AUTH_NONE.
inline constexpr uint32_t kCallBytes = 40;

/// Writes the header, kCallBytes bytes, at `to`. Returns kCallBytes.
uint32_t WriteCall(uint8_t* to, uint32_t xid, uint32_t program, uint32_t version,
                   uint32_t procedure);

/// A parsed reply. Fields that do not apply to its state are 0.
struct Reply {
  uint32_t xid = 0;
  ReplyStat stat = ReplyStat::kAccepted;
  AcceptStat accept = AcceptStat::kSuccess;      ///< Valid if the call was accepted.
  RejectStat reject = RejectStat::kRpcMismatch;  ///< Valid if the call was denied.
  AuthStat auth = AuthStat::kOk;     ///< Valid if denied with kAuthError; may be any number.
  uint32_t low = 0, high = 0;        ///< After a mismatch: range of supported versions.
  const uint8_t* results = nullptr;  ///< After success: all following bytes, in XDR.
  uint32_t result_bytes = 0;
};

/// Reason why a datagram is not a valid reply. The xid is valid except after kTruncated.
enum class ReplyError : uint8_t {
  kNone,
  kTruncated,
  kNotAReply,    ///< A call, or an invalid type.
  kBadVerifier,  ///< Longer than kMaxAuthBytes.
  kUnknown,      ///< A state that RFC 5531 does not define.
};

/// Returns the static, lower-case text of an error, for counters and messages.
std::string_view ReplyErrorName(ReplyError error);

/// Parses the `bytes` bytes at `message` and reads no other bytes. `*reply` points into them.
ReplyError ReadReply(const uint8_t* message, uint32_t bytes, Reply* reply);

}  // namespace sluice::rpc
