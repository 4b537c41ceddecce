// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/reply.h"

namespace sluice::rpc {
namespace {

using packet::StoreBe32;

void WriteDenied(uint8_t* to, uint32_t xid, RejectStat stat) {
  StoreBe32(to, xid);
  StoreBe32(to + 4, static_cast<uint32_t>(MessageType::kReply));
  StoreBe32(to + 8, static_cast<uint32_t>(ReplyStat::kDenied));
  StoreBe32(to + 12, static_cast<uint32_t>(stat));
}

}  // namespace

uint32_t WriteNotFound(uint8_t* to, uint32_t xid, const Lookup& found) {
  WriteAccepted(to, xid, found.stat);
  if (found.stat != AcceptStat::kProgMismatch) return 24;
  StoreBe32(to + 24, found.low);
  StoreBe32(to + 28, found.high);
  return 32;
}

uint32_t WriteRpcMismatch(uint8_t* to, uint32_t xid) {
  WriteDenied(to, xid, RejectStat::kRpcMismatch);
  StoreBe32(to + 16, kRpcVersion);
  StoreBe32(to + 20, kRpcVersion);
  return 24;
}

uint32_t WriteAuthError(uint8_t* to, uint32_t xid, AuthStat stat) {
  WriteDenied(to, xid, RejectStat::kAuthError);
  StoreBe32(to + 16, static_cast<uint32_t>(stat));
  return 20;
}

uint32_t WriteRefusal(uint8_t* to, uint32_t xid, CallError error) {
  switch (error) {
    case CallError::kRpcVersion:
      return WriteRpcMismatch(to, xid);
    case CallError::kBadCredential:
      return WriteAuthError(to, xid, AuthStat::kBadCred);
    case CallError::kFlavor:
      return WriteAuthError(to, xid, AuthStat::kRejectedCred);
    case CallError::kBadVerifier:
      return WriteAuthError(to, xid, AuthStat::kBadVerf);
    default:
      return 0;
  }
}

}  // namespace sluice::rpc
