// SPDX-License-Identifier: BSD-3-Clause
//
// Replies of ONC-RPC version 2 (RFC 5531 section 9), written in front of the results, if there
// are any. Verifiers are AUTH_NONE's: what AUTH_NONE and AUTH_SYS ask for (RFC 5531 section 8.2).
#pragma once

#include <cstdint>

#include "packet/bytes.h"
#include "rpc/call.h"
#include "rpc/message.h"
#include "rpc/table.h"

namespace sluice::rpc {

/// In front of the results of a call that succeeded.
inline constexpr uint32_t kSuccessBytes = 24;
/// No reply without results is longer.
inline constexpr uint32_t kMaxReplyBytes = 32;

/// Each writes a reply to the call `xid` at `to`, and returns its bytes. kProgMismatch has a body:
/// WriteNotFound.
inline uint32_t WriteAccepted(uint8_t* to, uint32_t xid, AcceptStat stat) {
  packet::StoreBe32(to, xid);
  packet::StoreBe32(to + 4, static_cast<uint32_t>(MessageType::kReply));
  packet::StoreBe32(to + 8, static_cast<uint32_t>(ReplyStat::kAccepted));
  packet::StoreBe32(to + 12, static_cast<uint32_t>(AuthFlavor::kNone));
  packet::StoreBe32(to + 16, 0);
  packet::StoreBe32(to + 20, static_cast<uint32_t>(stat));
  return kSuccessBytes;
}

/// To a call of what there is not, with the versions that there are after kProgMismatch.
uint32_t WriteNotFound(uint8_t* to, uint32_t xid, const Lookup& found);

/// We speak kRpcVersion alone.
uint32_t WriteRpcMismatch(uint8_t* to, uint32_t xid);

uint32_t WriteAuthError(uint8_t* to, uint32_t xid, AuthStat stat);

/// The reply to a message that was no call to execute; 0 bytes where there is nothing to answer.
uint32_t WriteRefusal(uint8_t* to, uint32_t xid, CallError error);

}  // namespace sluice::rpc
