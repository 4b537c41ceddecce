// SPDX-License-Identifier: BSD-3-Clause
//
// Serves a service over TCP, by sockets of the kernel. Whatever peers do, it holds a bounded number
// of connections and of bytes for each, and serves the others: a peer that does not read its
// replies is not read from; one that is slow is disconnected, and so is the one that has been
// silent for longest when there are too many.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <span>
#include <utility>
#include <vector>

#include "engine/rpc/message_server.h"
#include "rpc/record.h"
#include "runtime/owned_fd.h"

namespace sluice::rpc_app {

struct TcpLimits {
  uint32_t connections = 64;
  uint32_t call_bytes = 16384;  ///< Of a longer call the connection is closed.
  /// For a whole call, from the reply before it (or the connection's begin), and for the peer to
  /// take the reply.
  std::chrono::milliseconds patience{30'000};
};

/// Belongs to one thread.
class TcpServer {
 public:
  /// Of listening sockets. `server` outlives it.
  TcpServer(std::vector<runtime::OwnedFd> listeners, engine::rpc::MessageServer& server,
            TcpLimits limits = {});

  /// Waits until there is something to do, for at most `patience`, and does it.
  void Step(std::chrono::milliseconds patience);
  size_t connections() const { return connections_.size(); }

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    Connection(runtime::OwnedFd fd, uint32_t call_bytes)
        : socket(std::move(fd)), calls(call_bytes), since(Clock::now()) {}

    bool HasReply() const { return sent < reply.size(); }

    runtime::OwnedFd socket;
    rpc::RecordReader calls;
    std::vector<uint8_t> reply;  ///< With its mark.
    size_t sent = 0;             ///< Bytes of it.
    std::vector<uint8_t> rest;   ///< Came with a call, behind it.
    Clock::time_point since;     ///< When the last reply was taken, or the connection began.
  };

  void Accept(int listener);
  /// False: the connection is to be closed.
  bool Serve(Connection& connection);
  bool ReadCalls(Connection& connection);
  /// Takes calls from `bytes` while replies go out at once.
  bool Take(Connection& connection, std::span<const uint8_t> bytes);
  bool SendReply(Connection& connection);
  void CloseSlow();
  /// The one that has been silent for longest.
  void CloseOne();

  std::vector<runtime::OwnedFd> listeners_;
  engine::rpc::MessageServer& server_;
  TcpLimits limits_;
  std::list<Connection> connections_;
  std::vector<pollfd> polled_;  ///< Listeners, then connections in their order.
  std::vector<uint8_t> input_;
  std::vector<uint8_t> output_;  ///< A reply, behind its mark.
};

}  // namespace sluice::rpc_app
