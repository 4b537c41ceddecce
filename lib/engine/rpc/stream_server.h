// SPDX-License-Identifier: BSD-3-Clause
//
// An engine for byte streams that answers ONC-RPC calls. Each call and each reply is a record (RFC
// 5531 section 11). Replies are sent in the order of the calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/rpc/services.h"
#include "engine/rpc/execution.h"
#include "engine/rpc/message_server.h"
#include "engine/rpc/server.h"
#include "packet/byte_stream.h"
#include "rpc/record.h"

namespace sluice::engine::rpc {

class StreamServer final : public packet::StreamEngine {
 public:
  struct Connection {
    uint16_t port = 0;  ///< The port of the service.
  };
  /// Maximum length of a call. A longer record ends the connection.
  static constexpr uint32_t kMaxCallBytes = 128 * 1024;
  /// Maximum length of a call including its marks. Limits the number of marks if a record consists
  /// of many fragments.
  static constexpr uint32_t kMaxRequestBytes = 2 * kMaxCallBytes;
  static constexpr uint32_t kMaxAnswerBytes = wire::kMarkBytes + MessageServer::kReplyBytes;

  /// `services` and `counts`: see Server. Drops are counted here, too.
  StreamServer(const device::rpc::Services& services, Counts& counts);

  bool Accept(Connection& connection, const packet::StreamPeer& peer, uint64_t /*now*/) {
    connection.port = peer.local_port;
    return true;
  }
  void Process(Connection& connection, packet::StreamTurn& turn, uint64_t now);

 private:
  /// The first record of a stream.
  struct Record {
    enum class State : uint8_t { kIncomplete, kWhole, kTooLong };
    State state;
    uint32_t bytes = 0;                  ///< Including the marks.
    std::span<const uint8_t> message{};  ///< Excluding the marks.
  };

  Record Find(std::span<const uint8_t> stream);
  uint32_t Answer(uint16_t port, std::span<const uint8_t> message, std::span<uint8_t> reply);
  void Count(RpcCounter counter) { ++(*counts_)[static_cast<uint32_t>(counter)]; }

  const device::rpc::Services* services_;
  Counts* counts_;
  Execution execution_;
  std::vector<uint8_t> joined_;  ///< The joined fragments of a record that has more than one.
};

}  // namespace sluice::engine::rpc
