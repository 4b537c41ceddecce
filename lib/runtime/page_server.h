// SPDX-License-Identifier: BSD-3-Clause
//
// One page over HTTP/1.1 (RFC 9112), rebuilt for each request, from one thread that no client can
// keep busy: connections are limited in number and in time, and clients that have sent a request
// come before those that have only connected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/owned_fd.h"

namespace sluice::runtime {

/// Serves while it lives. Answers GET and HEAD of its path, 404 elsewhere, and closes after each
/// answer.
class PageServer {
 public:
  /// Open connections. One more ends the oldest of those that have not asked yet, else the oldest.
  static constexpr size_t kMaxConnections = 64;
  /// From a connection's beginning to its end.
  static constexpr int kPatienceMs = 5000;
  static constexpr size_t kMaxRequestBytes = 8192;

  struct Page {
    std::string path;                   ///< "/metrics"
    std::string content_type;           ///< "text/plain"
    std::function<std::string()> make;  ///< Called by the server's thread.
  };

  /// Listens on a numeric address of this host and a port; 0 is any that is free. Null, with errno
  /// set, if it cannot.
  static std::unique_ptr<PageServer> Open(const std::string& address, const std::string& port,
                                          Page page);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  /// Where it listens.
  uint16_t port() const { return port_; }

 private:
  /// A peer: what it has asked so far, and what it has not taken yet of the answer.
  struct Connection {
    OwnedFd fd;
    int64_t began_ms;
    std::string request;
    std::string answer;  ///< Empty until the request is whole.
    size_t taken = 0;    ///< Bytes of `answer`.
  };

  PageServer(Page page, OwnedFd listener, uint16_t port);
  bool Start();
  void Serve();
  void Accept(int64_t now_ms);
  void MakeRoom();
  /// Reads and writes what it can. False: it is over.
  bool Advance(Connection& connection);
  std::string Answer(std::string_view request) const;

  Page page_;
  OwnedFd listener_;
  OwnedFd stop_;  ///< Readable once the thread shall end.
  uint16_t port_;
  std::vector<Connection> connections_;  ///< Oldest first. The thread's.
  std::thread thread_;
};

}  // namespace sluice::runtime
