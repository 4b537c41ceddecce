// SPDX-License-Identifier: BSD-3-Clause
//
// Serves memcached's protocols over byte streams, an engine for byte streams. The first byte of a
// connection selects the text or the binary protocol. All whole requests among the unread bytes are
// served like those of a datagram, and their answers are sent together. Bytes of an incomplete
// request stay unread, except those of a long value, which are collected in the connection. An
// answer that does not fit into the room is kept in the connection and sent in parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"
#include "engine/kv/responder.h"
#include "engine/transport/unread_bytes.h"
#include "packet/byte_stream.h"

namespace sluice::engine::kv {

class StreamServer final : public packet::StreamEngine {
 public:
  /// Maximum length of a line, and of a request that is served where its bytes lie. memcached does
  /// not limit the lines of get and gets.
  static constexpr uint32_t kMaxRequestBytes = 128 * 1024;
  /// Requests are served only with this much room. Longer answers are sent in parts.
  static constexpr uint32_t kMaxAnswerBytes = 512;

  /// State of a connection.
  struct Connection {
    enum class Protocol : uint8_t { kUnknown, kText, kBinary };

    /// Returns whether `held` is an answer, or the part of one, that must be sent.
    bool HasAnswer() const { return request_bytes == 0 && held.size() != 0; }

    Protocol protocol = Protocol::kUnknown;
    bool closing = false;        ///< The connection is closed when `held` is sent.
    bool in_line = false;        ///< The first `wanted` - 1 unread bytes contain no line end.
    uint32_t wanted = 1;         ///< Number of unread bytes below which no request is complete.
    uint32_t within = 0;         ///< Exchange::within of the first unread request.
    uint32_t request_bytes = 0;  ///< Length of the request that `held` collects; 0: none.
    /// Number of bytes to discard. If HasAnswer(), the last of them stays unread until the answer
    /// is sent, so that the engine is called again.
    uint64_t skip = 0;
    UnreadBytes held;
  };

  /// The store must have one worker, because a stream cannot be handed to another. `store` must
  /// outlive the object. Of `options`, only the facts and the Unix time are used.
  /// `cycles_per_second` is the frequency of the `now` arguments. Call it before the worker runs.
  StreamServer(Store& store, const ServiceOptions& options, uint64_t cycles_per_second);

  void Process(Connection& connection, packet::StreamTurn& turn, uint64_t now);
  void Closed(Connection& connection, bool /*complete*/, uint64_t /*now*/) {
    connection.held.Clear(limit_);
  }
  /// Updates the time, and serves one request of a live snapshot. Call it before the first Process.
  void AtRest(uint64_t now) override;

 private:
  /// Limit of the memory for long requests and answers of all connections. A connection that would
  /// exceed it is aborted.
  static constexpr uint64_t kHeldBytes = 256u << 20;
  /// Room that is used at most, and the memory for an answer that exceeds it.
  static constexpr uint32_t kRoomBytes = 256 * 1024;
  static constexpr uint32_t kLongReplyBytes = 2 << 20;

  /// Discards bytes, and sends an answer that is kept.
  void SendHeld(Connection& connection, packet::StreamTurn& turn);
  /// Collects bytes of a long request, and serves it when it is complete.
  void Collect(Connection& connection, packet::StreamTurn& turn);
  /// Waits for bytes of the incomplete request at the end of `unread`.
  void Await(Connection& connection, packet::StreamTurn& turn, Bytes unread, uint32_t wanted);
  /// Serves the requests of `bytes`.
  Progress Serve(Connection& connection, Bytes bytes, Exchange& exchange, Reply& reply);
  /// Sends `reply`, or keeps what cannot be sent yet. `exchange` ended with `progress`.
  void Send(Connection& connection, packet::StreamTurn& turn, const Exchange& exchange,
            const Reply& reply, Progress progress);

  Access access_;
  ServerFacts facts_;
  uint32_t unix_epoch_s_;
  uint64_t cycles_per_second_;
  uint32_t now_s_ = 0;
  UnreadLimit limit_{kHeldBytes};
  std::unique_ptr<uint8_t[]> long_reply_;
  std::shared_ptr<ResponderCounters> counters_;  ///< Shared with Store::traffic.
  std::shared_ptr<ChainRequest> chain_request_;  ///< Shared with Store::chain_requests.
};

}  // namespace sluice::engine::kv
