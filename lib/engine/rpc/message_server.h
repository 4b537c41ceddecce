// SPDX-License-Identifier: BSD-3-Clause
//
// Answers calls that did not arrive in frames, e.g. calls from a TCP connection. Like server.h, but
// for bare messages.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "device/rpc/services.h"
#include "engine/rpc/execution.h"

namespace sluice::engine::rpc {

/// The reply to a call to an existing procedure.
struct CallAnswer {
  wire::AcceptStat stat;    ///< The status in the reply.
  bool executed = false;    ///< Whether the function was called.
  bool bad_result = false;  ///< Whether the result did not match the procedure's type.
  uint32_t bytes = 0;       ///< Length of the reply.
};

/// Executes a call and writes the reply to `reply`, which must have at least wire::kMaxReplyBytes
/// bytes.
CallAnswer AnswerCall(Execution& execution, const device::rpc::Service& service, uint32_t procedure,
                      const wire::Call& call, std::span<uint8_t> reply);

/// Returns the maximum size of a result of these services, for Execution.
uint32_t MaxResultBytes(const device::rpc::Services& services);

/// Answers bare messages. Used by one thread. Allocates only in the constructor.
class MessageServer {
 public:
  /// Required size of the reply's memory in bytes.
  static constexpr uint32_t kReplyBytes = 65536;

  /// The table must be valid, and each entry's code must be a Function of this process.
  explicit MessageServer(device::rpc::Service service)
      : service_(std::move(service)), execution_(service_.table.MaxResultBytes()) {}

  /// Answers `message`: writes the reply into `reply`, which must have kReplyBytes bytes. Returns
  /// the size of the reply; 0 if no reply is due.
  uint32_t Answer(std::span<const uint8_t> message, std::span<uint8_t> reply);

 private:
  device::rpc::Service service_;
  Execution execution_;
};

}  // namespace sluice::engine::rpc
