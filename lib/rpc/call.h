// SPDX-License-Identifier: BSD-3-Clause
//
// A call of ONC-RPC version 2 as it is read from a datagram (RFC 5531 section 9).
#pragma once

#include <cstdint>
#include <string_view>

#include "packet/bytes.h"
#include "rpc/message.h"

namespace sluice::rpc {

/// Who calls, by AUTH_SYS (RFC 5531 appendix A). Views into the datagram.
struct SysCredential {
  uint32_t stamp = 0;
  std::string_view machine_name;  ///< At most kMaxMachineNameBytes; any bytes.
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t groups = 0;  ///< At most kMaxGroups.
  const uint8_t* groups_be = nullptr;

  /// The group number `i`, below `groups`.
  uint32_t group(uint32_t i) const { return packet::LoadBe32(groups_be + 4 * i); }
};

/// What a call says. Which fields are valid depends on CallError.
struct Call {
  uint32_t xid = 0;
  uint32_t program = 0;
  uint32_t version = 0;
  uint32_t procedure = 0;
  AuthFlavor flavor = AuthFlavor::kNone;
  SysCredential sys;  ///< If the flavor is kSys.
  /// The arguments, in XDR: all that follows the header. Trailing bytes that a procedure does not
  /// take are no error, as in libtirpc.
  const uint8_t* arguments = nullptr;
  uint32_t argument_bytes = 0;
};

/// Why a datagram is no call to execute.
enum class CallError : uint8_t {
  kNone,           ///< Every field is valid.
  kTruncated,      ///< It ends inside the header: nothing to answer. No field is valid.
  kNotACall,       ///< A reply, or none of the protocol's types: nothing to answer. Only xid is.
  kRpcVersion,     ///< Answer MSG_DENIED, RPC_MISMATCH. xid is valid.
  kBadCredential,  ///< Answer AUTH_BADCRED: longer than allowed, or not what its flavor says. xid,
                   ///< program, version and procedure are valid, as for the next two.
  kFlavor,         ///< Answer AUTH_REJECTEDCRED: neither AUTH_NONE nor AUTH_SYS.
  kBadVerifier,    ///< Answer AUTH_BADVERF: longer than allowed.
};

/// Static text of an error, lower case, for counters and messages.
std::string_view CallErrorName(CallError error);

/// Reads the header of the `bytes` bytes at `message`; never beyond them. Bodies of AUTH_NONE
/// credentials and of verifiers are skipped: nothing is ever checked against them (RFC 5531
/// section 10.1). `*call` is written as far as CallError says, and points into `message`.
CallError ReadCall(const uint8_t* message, uint32_t bytes, Call* call);

}  // namespace sluice::rpc
