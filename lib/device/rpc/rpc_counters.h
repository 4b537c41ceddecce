// SPDX-License-Identifier: BSD-3-Clause
//
// Counters of frames that do not become calls, and of replies that the device writes itself. The
// dispatcher counts how calls end (dispatcher.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/counter_rows.h"
#include "rpc/call_frame.h"

namespace sluice::device::rpc {

enum class RpcCounter : uint8_t {
  // Frames that are not calls to this device and are dropped.
  kNotUdp,
  kMalformed,
  kFragment,
  kOptions,
  kBadChecksum,
  kTruncated,  ///< The frame ends within the call's header.
  kNotACall,
  kNotOurPort,  ///< No service uses the UDP port.
  kNoSlot,      ///< All of the device's slots are in use.
  kDuplicate,   ///< Repetition of a call that is still waiting.
  // Calls that are answered with an error. If the call had begun, its frame is also counted in
  // kReceived; other frames are counted only here.
  kRpcMismatch,
  kAuthError,
  kProgUnavail,
  kProgMismatch,
  kProcUnavail,
  kGarbageArgs,
  kSystemErr,
  // Executed calls and replies.
  kReceived,   ///< Calls that reached a process.
  kSent,       ///< Replies to these calls, and error replies.
  kUnsent,     ///< Errors for frames that arrived while there was no room for replies, and
               ///< fragmented replies that the interface did not accept.
  kUnreplied,  ///< Handlers that requested no reply.
  // Results and nested calls from services.
  kBadResults,     ///< Results that do not match the procedure's type: SYSTEM_ERR.
  kNestedRefused,  ///< Nested calls that could not be made; the continuation gets the reason.
  kNestedOrphans,  ///< Nested calls that ended after the call that waited for them.
};
inline constexpr uint32_t kRpcCounters = 24;

inline constexpr auto kRpcCounterNames =
    base::Names<RpcCounter, kRpcCounters>({{RpcCounter::kNotUdp, "rpc_drop_not_udp"},
                                           {RpcCounter::kMalformed, "rpc_drop_malformed"},
                                           {RpcCounter::kFragment, "rpc_drop_fragment"},
                                           {RpcCounter::kOptions, "rpc_drop_options"},
                                           {RpcCounter::kBadChecksum, "rpc_drop_bad_checksum"},
                                           {RpcCounter::kTruncated, "rpc_drop_truncated"},
                                           {RpcCounter::kNotACall, "rpc_drop_not_a_call"},
                                           {RpcCounter::kNotOurPort, "rpc_drop_not_our_port"},
                                           {RpcCounter::kNoSlot, "rpc_drop_no_slot"},
                                           {RpcCounter::kDuplicate, "rpc_drop_duplicate"},
                                           {RpcCounter::kRpcMismatch, "rpc_rpc_mismatch"},
                                           {RpcCounter::kAuthError, "rpc_auth_error"},
                                           {RpcCounter::kProgUnavail, "rpc_prog_unavail"},
                                           {RpcCounter::kProgMismatch, "rpc_prog_mismatch"},
                                           {RpcCounter::kProcUnavail, "rpc_proc_unavail"},
                                           {RpcCounter::kGarbageArgs, "rpc_garbage_args"},
                                           {RpcCounter::kSystemErr, "rpc_system_err"},
                                           {RpcCounter::kReceived, "rx_frames"},
                                           {RpcCounter::kSent, "rpc_sent"},
                                           {RpcCounter::kUnsent, "rpc_unsent"},
                                           {RpcCounter::kUnreplied, "rpc_unreplied"},
                                           {RpcCounter::kBadResults, "rpc_bad_results"},
                                           {RpcCounter::kNestedRefused, "rpc_nested_refused"},
                                           {RpcCounter::kNestedOrphans, "rpc_nested_orphans"}});

/// Returns the counter for a frame that must be dropped regardless of its port. `error` is the
/// frame error that ReadCallFrame found, and `call` is the error in the frame's message. Returns
/// nullopt if the frame is a call or gets an error reply.
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

/// Returns the counter for calls that get this error reply.
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
/// Returns the counter for messages that are not executable calls.
constexpr RpcCounter CounterOf(::sluice::rpc::CallError error) {
  return error == ::sluice::rpc::CallError::kRpcVersion ? RpcCounter::kRpcMismatch
                                                        : RpcCounter::kAuthError;
}

}  // namespace sluice::device::rpc
