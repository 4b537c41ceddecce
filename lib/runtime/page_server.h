// SPDX-License-Identifier: BSD-3-Clause
//
// Serves one page over HTTP/1.1 (RFC 9112) from one thread. The page is rebuilt for each request.
// Clients cannot monopolize the thread: connections are limited in number and duration, and clients
// that have sent a request have priority over clients that have only connected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/owned_fd.h"

namespace sluice::runtime {

/// Serves while the object exists. Answers GET and HEAD of its path with the page, and other
/// requests with 404, 405 or 400. Closes the connection after each answer.
class PageServer {
 public:
  /// Maximum number of open connections. If another one arrives, the oldest connection without a
  /// complete request is closed, or the oldest connection if all requests are complete.
  static constexpr size_t kMaxConnections = 64;
  /// Maximum duration of a connection.
  static constexpr int kPatienceMs = 5000;
  static constexpr size_t kMaxRequestBytes = 8192;

  struct Page {
    std::string path;                   ///< For example "/metrics".
    std::string content_type;           ///< For example "text/plain".
    std::function<std::string()> make;  ///< Returns the page. Called by the server's thread.
  };

  /// Listens on a numeric address of this host and a port. Port 0 selects any free port. On failure
  /// returns null and sets errno.
  static std::unique_ptr<PageServer> Open(const std::string& address, const std::string& port,
                                          Page page);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  /// Returns the port that the server listens on.
  uint16_t port() const { return port_; }

 private:
  /// A connection: the part of the request received so far, and the unsent part of the answer.
  struct Connection {
    base::OwnedFd fd;
    int64_t began_ms;
    std::string request;
    std::string answer;  ///< The whole answer; empty until the request is complete.
    size_t taken = 0;    ///< Number of bytes of `answer` that have been sent.
  };

  PageServer(Page page, base::OwnedFd listener, uint16_t port);
  bool Start();
  void Serve();
  void Accept(int64_t now_ms);
  void MakeRoom();
  /// Reads and writes without blocking. Returns false if the connection has ended.
  bool Advance(Connection& connection);
  std::string Answer(std::string_view request) const;

  Page page_;
  base::OwnedFd listener_;
  base::OwnedFd stop_;  ///< Becomes readable when the thread must end.
  uint16_t port_;
  std::vector<Connection> connections_;  ///< Oldest first. Only the thread accesses it.
  std::thread thread_;
};

}  // namespace sluice::runtime
