// SPDX-License-Identifier: BSD-3-Clause
//
// How frames end at the device before they become calls, and the replies that it writes itself.
// Calls end as the dispatcher counts (dispatcher.h).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice::device::rpc {

enum class RpcCounter : uint8_t {
  // A frame that is no call of ours: dropped, one for each.
  kNotUdp,
  kMalformed,
  kFragment,
  kOptions,
  kBadChecksum,
  kTruncated,   ///< Ends within the call's header.
  kNotACall,
  kNotOurPort,  ///< No service is there.
  kNoSlot,      ///< The device holds as many calls as it can.
  // A call that is answered with an error; the frame ends here, unless the call was begun.
  kRpcMismatch,
  kAuthError,
  kProgUnavail,
  kProgMismatch,
  kProcUnavail,
  kGarbageArgs,
  kSystemErr,
  // Of frames.
  kReceived,    ///< Calls that reached a process.
  kSent,        ///< Replies to them, and errors.
  kUnsent,      ///< Errors that found no room to wait for the wire.
  kUnreplied,   ///< Handlers that wanted nothing to be sent.
  // Of services.
  kBadResults,  ///< Results that are not what the procedure returns: SYSTEM_ERR.
};
inline constexpr uint32_t kRpcCounters = 21;

/// In the order of RpcCounter.
inline constexpr std::array<std::string_view, kRpcCounters> kRpcCounterNames = {
    "rpc_drop_not_udp",      "rpc_drop_malformed",   "rpc_drop_fragment", "rpc_drop_options",
    "rpc_drop_bad_checksum", "rpc_drop_truncated",   "rpc_drop_not_a_call",
    "rpc_drop_not_our_port", "rpc_drop_no_slot",     "rpc_rpc_mismatch",  "rpc_auth_error",
    "rpc_prog_unavail",      "rpc_prog_mismatch",    "rpc_proc_unavail",  "rpc_garbage_args",
    "rpc_system_err",        "rx_frames",            "rpc_sent",          "rpc_unsent",
    "rpc_unreplied",         "rpc_bad_results"};

}  // namespace sluice::device::rpc
