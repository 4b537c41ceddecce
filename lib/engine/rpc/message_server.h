// SPDX-License-Identifier: BSD-3-Clause
//
// Answers calls that did not come in frames, such as those of a TCP connection: server.h, for bare
// messages.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "device/rpc/services.h"
#include "engine/rpc/execution.h"

namespace sluice::engine::rpc {

/// Belongs to one thread. Allocates nothing after construction.
class MessageServer {
 public:
  /// Room that a reply may need.
  static constexpr uint32_t kReplyBytes = 65536;

  /// Of a sound table; each entry's code is a Function of this process.
  explicit MessageServer(device::rpc::Service service)
      : service_(std::move(service)), execution_(service_.table.MaxResultBytes()) {}

  /// Writes the reply to `message` to `reply`, which has kReplyBytes, and returns its bytes; 0:
  /// there is nothing to answer.
  uint32_t Answer(std::span<const uint8_t> message, std::span<uint8_t> reply);

 private:
  device::rpc::Service service_;
  Execution execution_;
};

}  // namespace sluice::engine::rpc
