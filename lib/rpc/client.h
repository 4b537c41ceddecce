// SPDX-License-Identifier: BSD-3-Clause
//
// The other half of ONC-RPC version 2 (RFC 5531 section 9): calls written, replies read. For
// generators, and for services that call others.
#pragma once

#include <cstdint>
#include <string_view>

#include "rpc/message.h"

namespace sluice::rpc {

/// In front of the arguments of a call with AUTH_NONE.
inline constexpr uint32_t kCallBytes = 40;

/// Writes kCallBytes at `to`, and returns that.
uint32_t WriteCall(uint8_t* to, uint32_t xid, uint32_t program, uint32_t version,
                   uint32_t procedure);

/// What a reply says. All fields but those of what happened are 0.
struct Reply {
  uint32_t xid = 0;
  ReplyStat stat = ReplyStat::kAccepted;
  AcceptStat accept = AcceptStat::kSuccess;      ///< If accepted.
  RejectStat reject = RejectStat::kRpcMismatch;  ///< If denied.
  AuthStat auth = AuthStat::kOk;                 ///< If denied for it; any number.
  uint32_t low = 0, high = 0;                    ///< Of a mismatch: versions that there are.
  const uint8_t* results = nullptr;              ///< Of success: all that follows, in XDR.
  uint32_t result_bytes = 0;
};

/// Why a datagram is no reply. Its xid is valid but after kTruncated.
enum class ReplyError : uint8_t {
  kNone,
  kTruncated,
  kNotAReply,    ///< A call, or none of the protocol's types.
  kBadVerifier,  ///< Longer than kMaxAuthBytes.
  kUnknown,      ///< A state that RFC 5531 does not have.
};

/// Static text of an error, lower case, for counters and messages.
std::string_view ReplyErrorName(ReplyError error);

/// Reads the `bytes` bytes at `message`; never beyond them. `*reply` points into them.
ReplyError ReadReply(const uint8_t* message, uint32_t bytes, Reply* reply);

}  // namespace sluice::rpc
