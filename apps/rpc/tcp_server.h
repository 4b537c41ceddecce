// SPDX-License-Identifier: BSD-3-Clause
//
// Serves a service over TCP, with kernel sockets. The number of connections and the memory per
// connection are bounded, regardless of the peers' behavior. The server does not read calls from a
// peer that does not read its replies. Slow peers are disconnected. If there are too many
// connections, the one with the oldest reply is closed.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <span>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "engine/rpc/message_server.h"
#include "rpc/record.h"

namespace sluice::rpc_app {

struct TcpLimits {
  uint32_t connections = 64;
  uint32_t call_bytes = 16384;  ///< Maximum call size; a longer call closes the connection.
  /// Time limit for a whole call: from the previous reply, or from the connection's start, until
  /// the kernel has accepted the reply.
  std::chrono::milliseconds patience{30'000};
};

/// Used by one thread.
class TcpServer {
 public:
  /// Serves listening sockets. `server` must outlive the object.
  TcpServer(std::vector<base::OwnedFd> listeners, engine::rpc::MessageServer& server,
            TcpLimits limits = {});

  /// Waits for events, for at most `patience`, and handles them.
  void Step(std::chrono::milliseconds patience);
  size_t connections() const { return connections_.size(); }

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    Connection(base::OwnedFd fd, uint32_t call_bytes)
        : socket(std::move(fd)), calls(call_bytes), since(Clock::now()) {}

    bool HasReply() const { return sent < reply.size(); }

    base::OwnedFd socket;
    rpc::RecordReader calls;
    std::vector<uint8_t> reply;  ///< Includes its record mark.
    size_t sent = 0;             ///< Number of bytes of `reply` sent so far.
    std::vector<uint8_t> rest;   ///< Input that followed the current call.
    Clock::time_point since;     ///< Time of the last complete reply, or of the connection's start.
  };

  void Accept(int listener);
  /// Returns false if the connection must be closed.
  bool Serve(Connection& connection);
  bool ReadCalls(Connection& connection);
  /// Processes calls from `bytes` as long as replies can be sent without waiting.
  bool ProcessCalls(Connection& connection, std::span<const uint8_t> bytes);
  bool SendReply(Connection& connection);
  void CloseSlow();
  /// Closes the connection with the earliest `since`.
  void CloseOne();

  std::vector<base::OwnedFd> listeners_;
  engine::rpc::MessageServer& server_;
  TcpLimits limits_;
  std::list<Connection> connections_;
  std::vector<pollfd> polled_;  ///< Listeners, then connections in order.
  std::vector<uint8_t> input_;
  std::vector<uint8_t> output_;  ///< A record mark and its reply.
};

}  // namespace sluice::rpc_app
