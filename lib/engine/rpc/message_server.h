// SPDX-License-Identifier: BSD-3-Clause
//
// Answers calls that did not arrive in frames, e.g. from a TCP connection: like server.h, for bare
// messages.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "device/rpc/services.h"
#include "engine/rpc/execution.h"

namespace sluice::engine::rpc {

/// Answers bare messages. Used by one thread. Allocates only in the constructor.
class MessageServer {
 public:
  /// Required size of the reply's memory in bytes.
  static constexpr uint32_t kReplyBytes = 65536;

  /// The table must be valid; each entry's code is a Function of this process.
  explicit MessageServer(device::rpc::Service service)
      : service_(std::move(service)), execution_(service_.table.MaxResultBytes()) {}

  /// Answers `message`: writes the reply into `reply`, which has kReplyBytes. Returns the size of
  /// the reply; 0 if no reply is due.
  uint32_t Answer(std::span<const uint8_t> message, std::span<uint8_t> reply);

 private:
  device::rpc::Service service_;
  Execution execution_;
};

}  // namespace sluice::engine::rpc
