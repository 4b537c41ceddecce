// SPDX-License-Identifier: BSD-3-Clause
//
// How frames end at the device before they become calls, and the replies that it writes itself.
// Calls end as the dispatcher counts (dispatcher.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rpc/call_frame.h"

namespace sluice::device::rpc {

enum class RpcCounter : uint8_t {
  // A frame that is no call of ours: dropped, one for each.
  kNotUdp,
  kMalformed,
  kFragment,
  kOptions,
  kBadChecksum,
  kTruncated,  ///< Ends within the call's header.
  kNotACall,
  kNotOurPort,  ///< No service is there.
  kNoSlot,      ///< The device holds as many calls as it can.
  kDuplicate,   ///< A call that still waits was sent again.
  // A call that is answered with an error; the frame ends here, unless the call was begun.
  kRpcMismatch,
  kAuthError,
  kProgUnavail,
  kProgMismatch,
  kProcUnavail,
  kGarbageArgs,
  kSystemErr,
  // Of frames.
  kReceived,   ///< Calls that reached a process.
  kSent,       ///< Replies to them, and errors.
  kUnsent,     ///< Errors to frames that arrived while there was no room for replies; replies in
               ///< fragments that the interface did not take.
  kUnreplied,  ///< Handlers that wanted nothing to be sent.
  // Of services.
  kBadResults,     ///< Results that are not what the procedure returns: SYSTEM_ERR.
  kNestedRefused,  ///< Calls of a service that reached no other: the continuation is told why.
  kNestedOrphans,  ///< Calls of a service that ended when nobody waited for them any more.
};
inline constexpr uint32_t kRpcCounters = 24;

/// In the order of RpcCounter.
inline constexpr std::array<std::string_view, kRpcCounters> kRpcCounterNames = {
    "rpc_drop_not_udp",
    "rpc_drop_malformed",
    "rpc_drop_fragment",
    "rpc_drop_options",
    "rpc_drop_bad_checksum",
    "rpc_drop_truncated",
    "rpc_drop_not_a_call",
    "rpc_drop_not_our_port",
    "rpc_drop_no_slot",
    "rpc_drop_duplicate",
    "rpc_rpc_mismatch",
    "rpc_auth_error",
    "rpc_prog_unavail",
    "rpc_prog_mismatch",
    "rpc_proc_unavail",
    "rpc_garbage_args",
    "rpc_system_err",
    "rx_frames",
    "rpc_sent",
    "rpc_unsent",
    "rpc_unreplied",
    "rpc_bad_results",
    "rpc_nested_refused",
    "rpc_nested_orphans"};

/// How a frame ends that ReadCallFrame read with `error`, and whose message with `call`, if it is
/// to be dropped whatever its port; nothing: it is a call, or is to be answered with an error.
constexpr std::optional<RpcCounter> DropOf(::sluice::rpc::FrameError error,
                                           ::sluice::rpc::CallError call) {
  using ::sluice::rpc::CallError;
  using ::sluice::rpc::FrameError;
  switch (error) {
    case FrameError::kNone:
      return std::nullopt;
    case FrameError::kNotUdp:
      return RpcCounter::kNotUdp;
    case FrameError::kMalformed:
      return RpcCounter::kMalformed;
    case FrameError::kFragment:
      return RpcCounter::kFragment;
    case FrameError::kOptions:
      return RpcCounter::kOptions;
    case FrameError::kBadChecksum:
      return RpcCounter::kBadChecksum;
    case FrameError::kCall:
      break;
  }
  if (call == CallError::kTruncated) return RpcCounter::kTruncated;
  if (call == CallError::kNotACall) return RpcCounter::kNotACall;
  return std::nullopt;
}

/// Under what an error counts that is the answer to a call.
constexpr RpcCounter CounterOf(::sluice::rpc::AcceptStat stat) {
  using ::sluice::rpc::AcceptStat;
  switch (stat) {
    case AcceptStat::kProgUnavail:
      return RpcCounter::kProgUnavail;
    case AcceptStat::kProgMismatch:
      return RpcCounter::kProgMismatch;
    case AcceptStat::kProcUnavail:
      return RpcCounter::kProcUnavail;
    case AcceptStat::kGarbageArgs:
      return RpcCounter::kGarbageArgs;
    default:
      return RpcCounter::kSystemErr;
  }
}
/// The same of a message that was no call to execute.
constexpr RpcCounter CounterOf(::sluice::rpc::CallError error) {
  return error == ::sluice::rpc::CallError::kRpcVersion ? RpcCounter::kRpcMismatch
                                                        : RpcCounter::kAuthError;
}

}  // namespace sluice::device::rpc
