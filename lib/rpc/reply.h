// SPDX-License-Identifier: BSD-3-Clause
//
// Reply headers of ONC-RPC version 2 (RFC 5531 section 9); the results, if any, follow them.
// Verifiers have the flavor AUTH_NONE, as AUTH_NONE and AUTH_SYS require (RFC 5531 section 8.2).
#pragma once

#include <cstdint>

#include "packet/bytes.h"
#include "rpc/call.h"
#include "rpc/message.h"
#include "rpc/table.h"

namespace sluice::rpc {

/// Size of the header before the results of a successful call.
inline constexpr uint32_t kSuccessBytes = 24;
/// Maximum size of a reply without results.
inline constexpr uint32_t kMaxReplyBytes = 32;

/// Writes a reply to call `xid` at `to`. Like all functions here, returns the length of the reply
/// in bytes. Must not be used for kProgMismatch, which has a body; use WriteNotFound instead.
inline uint32_t WriteAccepted(uint8_t* to, uint32_t xid, AcceptStat stat) {
  packet::StoreBe32(to, xid);
  packet::StoreBe32(to + 4, static_cast<uint32_t>(MessageType::kReply));
  packet::StoreBe32(to + 8, static_cast<uint32_t>(ReplyStat::kAccepted));
  packet::StoreBe32(to + 12, static_cast<uint32_t>(AuthFlavor::kNone));
  packet::StoreBe32(to + 16, 0);
  packet::StoreBe32(to + 20, static_cast<uint32_t>(stat));
  return kSuccessBytes;
}

/// Writes the reply to a call that Table::Find did not find. For kProgMismatch, it contains the
/// range of supported versions.
uint32_t WriteNotFound(uint8_t* to, uint32_t xid, const Lookup& found);

/// Writes the rejection of a call with another RPC version. It names kRpcVersion as the only
/// supported version.
uint32_t WriteRpcMismatch(uint8_t* to, uint32_t xid);

uint32_t WriteAuthError(uint8_t* to, uint32_t xid, AuthStat stat);

/// Writes the reply to a message that is not an executable call. Returns 0 if no reply must be
/// sent.
uint32_t WriteRefusal(uint8_t* to, uint32_t xid, CallError error);

}  // namespace sluice::rpc
