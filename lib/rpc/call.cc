// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/call.h"

namespace sluice::rpc {
namespace {

using packet::LoadBe32;

/// Size of the first fields: xid, type, RPC version, program, version and procedure, then the
/// flavor and length of the credential.
constexpr uint32_t kUpToCredential = 32;
/// Size of the verifier's flavor and length.
constexpr uint32_t kVerifierHead = 8;
/// Size of the stamp, the name's length, the uid, the gid and the number of groups.
constexpr uint32_t kMinSysBytes = 20;

/// Reads the body of an AUTH_SYS credential of `bytes` bytes. Returns false if it is malformed.
/// Trailing bytes are ignored, as in libtirpc.
bool ReadSys(const uint8_t* body, uint32_t bytes, SysCredential* sys) {
  if (bytes < kMinSysBytes) return false;
  const uint32_t name_bytes = LoadBe32(body + 4);
  if (name_bytes > kMaxMachineNameBytes) return false;
  const auto padded = static_cast<uint32_t>(Padded(name_bytes));
  if (padded > bytes - kMinSysBytes) return false;
  const uint8_t* const rest = body + 8 + padded;
  const uint32_t groups = LoadBe32(rest + 8);
  if (groups > kMaxGroups || 4 * groups > bytes - kMinSysBytes - padded) return false;
  sys->stamp = LoadBe32(body);
  sys->machine_name = {reinterpret_cast<const char*>(body + 8), name_bytes};
  sys->uid = LoadBe32(rest);
  sys->gid = LoadBe32(rest + 4);
  sys->groups = groups;
  sys->groups_be = rest + 12;
  return true;
}

}  // namespace

CallError ReadCall(const uint8_t* message, uint32_t bytes, Call* call) {
  if (bytes < 8) return CallError::kTruncated;
  call->xid = LoadBe32(message);
  if (LoadBe32(message + 4) != static_cast<uint32_t>(MessageType::kCall)) {
    return CallError::kNotACall;
  }
  // For other RPC versions, only the position of the version number is defined.
  if (bytes < 12) return CallError::kTruncated;
  if (LoadBe32(message + 8) != kRpcVersion) return CallError::kRpcVersion;
  if (bytes < kUpToCredential) return CallError::kTruncated;
  call->program = LoadBe32(message + 12);
  call->version = LoadBe32(message + 16);
  call->procedure = LoadBe32(message + 20);
  const uint32_t flavor = LoadBe32(message + 24);
  const uint32_t credential_bytes = LoadBe32(message + 28);
  if (credential_bytes > kMaxAuthBytes) return CallError::kBadCredential;
  const auto credential_end = kUpToCredential + static_cast<uint32_t>(Padded(credential_bytes));
  if (bytes < credential_end + kVerifierHead) return CallError::kTruncated;
  const uint32_t verifier_bytes = LoadBe32(message + credential_end + 4);
  if (verifier_bytes > kMaxAuthBytes) return CallError::kBadVerifier;
  const auto header =
      credential_end + kVerifierHead + static_cast<uint32_t>(Padded(verifier_bytes));
  if (bytes < header) return CallError::kTruncated;

  call->flavor = static_cast<AuthFlavor>(flavor);
  if (call->flavor == AuthFlavor::kSys) {
    if (!ReadSys(message + kUpToCredential, credential_bytes, &call->sys)) {
      return CallError::kBadCredential;
    }
  } else if (call->flavor != AuthFlavor::kNone) {
    return CallError::kFlavor;
  }
  call->arguments = message + header;
  call->argument_bytes = bytes - header;
  return CallError::kNone;
}

}  // namespace sluice::rpc
