// SPDX-License-Identifier: BSD-3-Clause
//
// Constants of ONC-RPC version 2, from RFC 5531 section 9. All are in host order.
#pragma once

#include <cstdint>

namespace sluice::rpc {

inline constexpr uint32_t kRpcVersion = 2;
/// Maximum size of the body of a credential or verifier: `opaque body<400>`.
inline constexpr uint32_t kMaxAuthBytes = 400;
/// Limits of AUTH_SYS (RFC 5531 appendix A).
inline constexpr uint32_t kMaxMachineNameBytes = 255;
inline constexpr uint32_t kMaxGroups = 16;

enum class MessageType : uint32_t { kCall = 0, kReply = 1 };

enum class AuthFlavor : uint32_t { kNone = 0, kSys = 1, kShort = 2, kDh = 3, kGss = 6 };

enum class ReplyStat : uint32_t { kAccepted = 0, kDenied = 1 };

/// Status of an accepted call.
enum class AcceptStat : uint32_t {
  kSuccess = 0,
  kProgUnavail = 1,   ///< The program does not exist here.
  kProgMismatch = 2,  ///< The program exists, but not in this version.
  kProcUnavail = 3,   ///< The version exists, but not this procedure.
  kGarbageArgs = 4,   ///< The arguments do not match the procedure.
  kSystemErr = 5,     ///< Out of memory, a crashed service, and similar errors.
};

enum class RejectStat : uint32_t { kRpcMismatch = 0, kAuthError = 1 };

/// Why a caller was rejected. kOk is never sent.
enum class AuthStat : uint32_t {
  kOk = 0,
  kBadCred = 1,
  kRejectedCred = 2,
  kBadVerf = 3,
  kRejectedVerf = 4,
  kTooWeak = 5,
};

/// Returns `bytes` rounded up to a multiple of four (RFC 4506 section 4.9).
constexpr uint64_t Padded(uint64_t bytes) { return (bytes + 3) & ~uint64_t{3}; }

}  // namespace sluice::rpc
