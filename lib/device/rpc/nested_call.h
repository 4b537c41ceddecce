// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that a service makes before it answers one: what its process leaves in the line instead of
// a reply (coherent::Kind::kCall), and what the device hands to the continuation. No thread waits:
// the process names where the answer goes, a code and a data pointer, and the device delivers it
// there as any other request. After Lauberhorn (Xu and Roscoe, HOTOS '25) section 7: nested RPCs,
// with an end-point made for the reply.
#pragma once

#include <array>
#include <cstdint>

namespace sluice::device::rpc {

/// At the beginning of what is left in the line; the arguments follow, prepared as a reply's
/// results are.
struct CallHead {
  uint32_t program = 0;
  uint32_t version = 0;
  uint32_t procedure = 0;
  uint32_t reserved = 0;
  // The continuation endpoint. The device looks at none of it.
  uint64_t code = 0;                  ///< Where to jump to when the answer is there,
  uint64_t data = 0;                  ///< with which state;
  std::array<uint64_t, 2> context{};  ///< and what else the process wants to find there.
};
static_assert(sizeof(CallHead) == 48);

/// What became of a nested call. Up to kSystemErr: as RFC 5531 numbers accept_stat.
enum class NestedStatus : uint32_t {
  kSuccess = 0,
  kProgUnavail = 1,  ///< No such program on this NIC, or it was removed meanwhile.
  kProgMismatch = 2,
  kProcUnavail = 3,
  kGarbageArgs = 4,
  kSystemErr = 5,  ///< The other process died, failed, or returned what makes no sense.
  // Not executed:
  kBusy = 6,     ///< Too many calls wait for the other service, or in the device.
  kTooMany = 7,  ///< This service has too many calls under way.
  kTooDeep = 8,  ///< Calls in calls in calls.
  // Executed or not:
  kTimedOut = 9,  ///< No answer in time; a late one is dropped.
};

/// At the beginning of what the continuation gets; after kSuccess the results follow, prepared as
/// arguments are.
struct ReplyHead {
  NestedStatus status = NestedStatus::kSuccess;
  uint32_t result_bytes = 0;          ///< That follow.
  std::array<uint64_t, 2> context{};  ///< Of CallHead.
};
static_assert(sizeof(ReplyHead) == 24);

}  // namespace sluice::device::rpc
