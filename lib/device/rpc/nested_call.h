// SPDX-License-Identifier: BSD-3-Clause
//
// Nested calls: calls that a service makes before it answers a call. Defines the contents of the
// line that its process writes instead of a reply (coherent::Kind::kCall), and the contents that
// the device delivers to the continuation. No thread waits: the process specifies a code address
// and a data pointer for the answer, and the device delivers the answer with them, like any other
// request. Source: Lauberhorn (Xu and Roscoe, HOTOS '25), section 7, which creates an end-point for
// the reply.
#pragma once

#include <array>
#include <cstdint>

namespace sluice::device::rpc {

/// Head of a nested call in the line. The call's arguments follow, in the format of a reply's
/// results.
struct CallHead {
  uint32_t program = 0;
  uint32_t version = 0;
  uint32_t procedure = 0;
  uint32_t reserved = 0;
  // The continuation. The device does not interpret these members.
  uint64_t code = 0;                  ///< Address to jump to when the answer has arrived.
  uint64_t data = 0;                  ///< Value that is passed to the code at this address.
  std::array<uint64_t, 2> context{};  ///< Further data for the continuation.
};
static_assert(sizeof(CallHead) == 48);

/// Result of a nested call. Values up to kSystemErr equal accept_stat of RFC 5531.
enum class NestedStatus : uint32_t {
  kSuccess = 0,
  kProgUnavail = 1,  ///< The NIC has no such program, or the program was removed in the meantime.
  kProgMismatch = 2,
  kProcUnavail = 3,
  kGarbageArgs = 4,
  kSystemErr = 5,  ///< The callee died, failed, or returned invalid results.
  // The call was not executed:
  kBusy = 6,     ///< Too many calls are waiting for the callee, or in the device.
  kTooMany = 7,  ///< The calling service has too many pending calls.
  kTooDeep = 8,  ///< The nesting limit was exceeded.
  // The call may have been executed:
  kTimedOut = 9,  ///< No answer arrived in time; a late answer is dropped.
};

/// Head of the continuation's line. After kSuccess the results follow, in the format of arguments.
struct ReplyHead {
  NestedStatus status = NestedStatus::kSuccess;
  uint32_t result_bytes = 0;          ///< Bytes that follow the head.
  std::array<uint64_t, 2> context{};  ///< Copy of CallHead::context.
};
static_assert(sizeof(ReplyHead) == 24);

}  // namespace sluice::device::rpc
