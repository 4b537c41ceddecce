// SPDX-License-Identifier: BSD-3-Clause
//
// Parses an ONC-RPC version 2 call in a datagram (RFC 5531 section 9).
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "packet/bytes.h"
#include "rpc/message.h"

namespace sluice::rpc {

/// The caller's AUTH_SYS credential (RFC 5531 appendix A). Its members are views into the datagram.
struct SysCredential {
  uint32_t stamp = 0;
  std::string_view machine_name;  ///< Any bytes, at most kMaxMachineNameBytes.
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t groups = 0;  ///< Number of groups, at most kMaxGroups.
  const uint8_t* groups_be = nullptr;

  /// Returns group number `i`, which must be below `groups`.
  uint32_t group(uint32_t i) const { return packet::LoadBe32(groups_be + 4 * i); }
};

/// A parsed call. CallError defines which fields are valid.
struct Call {
  uint32_t xid = 0;
  uint32_t program = 0;
  uint32_t version = 0;
  uint32_t procedure = 0;
  AuthFlavor flavor = AuthFlavor::kNone;
  SysCredential sys;  ///< Valid if the flavor is kSys.
  /// The arguments in XDR: all bytes after the header. As in libtirpc, it is not an error if a
  /// procedure does not use the trailing bytes.
  const uint8_t* arguments = nullptr;
  uint32_t argument_bytes = 0;
};

/// Why a datagram is not an executable call.
enum class CallError : uint8_t {
  kNone,           ///< Every field is valid.
  kTruncated,      ///< The datagram ends inside the header: send no reply. No field is valid.
  kNotACall,       ///< A reply, or an invalid type: send no reply. Only xid is valid.
  kRpcVersion,     ///< Reply MSG_DENIED, RPC_MISMATCH. Only xid is valid.
  kBadCredential,  ///< Reply AUTH_BADCRED: the credential is too long, or malformed for its flavor.
                   ///< After this error and the next two, xid, program, version and procedure are
                   ///< valid.
  kFlavor,         ///< Reply AUTH_REJECTEDCRED: the flavor is neither AUTH_NONE nor AUTH_SYS.
  kBadVerifier,    ///< Reply AUTH_BADVERF: the verifier is too long.
};

/// Parses the header in the `bytes` bytes at `message`, and reads no other bytes. Bodies of
/// AUTH_NONE credentials and of verifiers are skipped and never checked (RFC 5531 section 10.1).
/// Sets the fields of `*call` that CallError defines as valid. They point into `message`.
CallError ReadCall(const uint8_t* message, uint32_t bytes, Call* call);

/// Size of the header of a call with AUTH_NONE.
inline constexpr uint32_t kCallBytes = 40;

/// Writes the kCallBytes bytes of the header of a call with AUTH_NONE at `to`.
inline void WriteCall(uint8_t* to, uint32_t xid, uint32_t program, uint32_t version,
                      uint32_t procedure) {
  const uint32_t words[] = {
      xid, static_cast<uint32_t>(MessageType::kCall), kRpcVersion, program, version, procedure};
  for (uint32_t i = 0; i < 6; ++i) packet::StoreBe32(to + 4 * i, words[i]);
  std::memset(to + 24, 0, kCallBytes - 24);  // AUTH_NONE credential and verifier.
}

}  // namespace sluice::rpc
