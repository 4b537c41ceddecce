// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/page_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/monotonic_clock.h"

namespace sluice::runtime {

namespace {

constexpr int kBacklog = 128;
/// Pause before accepting connections again when the system has run out of descriptors.
constexpr int kPauseMs = 100;

int64_t NowMs() { return static_cast<int64_t>(base::MonotonicNs() / 1'000'000); }

bool WouldWait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

base::OwnedFd Listen(const addrinfo& address) {
  base::OwnedFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (fd && setsockopt(fd.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
      bind(fd.fd(), address.ai_addr, address.ai_addrlen) == 0 && listen(fd.fd(), kBacklog) == 0) {
    return fd;
  }
  return base::OwnedFd();
}

uint16_t PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::string Response(std::string_view status, std::string_view type, std::string_view body,
                     bool head_only) {
  std::string answer = "HTTP/1.1 ";
  answer.append(status).append("\r\nContent-Type: ").append(type);
  answer.append("\r\nContent-Length: ").append(std::to_string(body.size()));
  answer.append("\r\nConnection: close\r\n\r\n");
  if (!head_only) answer.append(body);
  return answer;
}

}  // namespace

std::unique_ptr<PageServer> PageServer::Open(const std::string& address, const std::string& port,
                                             Page page) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), port.c_str(), &hints, &found) != 0) {
    errno = EINVAL;
    return nullptr;
  }
  base::OwnedFd listener = Listen(*found);
  freeaddrinfo(found);
  if (!listener) return nullptr;
  const uint16_t bound = PortOf(listener.fd());
  std::unique_ptr<PageServer> server(new PageServer(std::move(page), std::move(listener), bound));
  return server->Start() ? std::move(server) : nullptr;
}

PageServer::PageServer(Page page, base::OwnedFd listener, uint16_t port)
    : page_(std::move(page)),
      listener_(std::move(listener)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      port_(port) {}

bool PageServer::Start() {
  if (!stop_) return false;
  try {
    thread_ = std::thread([this] { Serve(); });
  } catch (const std::system_error& failure) {
    errno = failure.code().value();
    return false;
  }
  return true;
}

PageServer::~PageServer() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.fd(), 1);
  thread_.join();
}

void PageServer::Serve() {
  std::vector<pollfd> polled;
  for (;;) {
    polled.assign({{stop_.fd(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}});
    for (const Connection& connection : connections_) {
      const bool asks = connection.answer.empty();
      polled.push_back({connection.fd.fd(), static_cast<short>(asks ? POLLIN : POLLOUT), 0});
    }
    // Connections are ordered by age, so the oldest has the first deadline.
    const int64_t left =
        connections_.empty() ? -1 : connections_.front().began_ms + kPatienceMs - NowMs();
    const int wait = connections_.empty() ? -1 : static_cast<int>(std::max<int64_t>(left, 0));
    if (poll(polled.data(), polled.size(), wait) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    const int64_t now = NowMs();
    size_t index = 2;
    std::erase_if(connections_, [&](Connection& connection) {
      const bool ready = polled[index++].revents != 0;
      return now - connection.began_ms >= kPatienceMs || (ready && !Advance(connection));
    });
    if (polled[1].revents != 0) Accept(now);
  }
}

void PageServer::Accept(int64_t now_ms) {
  for (size_t i = 0; i < kMaxConnections; ++i) {
    base::OwnedFd fd(accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        pollfd stop{stop_.fd(), POLLIN, 0};
        poll(&stop, 1, kPauseMs);
      }
      return;
    }
    Connection connection{std::move(fd), now_ms, {}, {}};
    if (!Advance(connection)) continue;
    if (connections_.size() == kMaxConnections) MakeRoom();
    connections_.push_back(std::move(connection));
  }
}

void PageServer::MakeRoom() {
  const auto silent = std::ranges::find_if(
      connections_, [](const Connection& connection) { return connection.answer.empty(); });
  connections_.erase(silent != connections_.end() ? silent : connections_.begin());
}

bool PageServer::Advance(Connection& connection) {
  if (connection.answer.empty()) {
    std::array<char, 1024> bytes;
    const ssize_t got = recv(connection.fd.fd(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return got < 0 && WouldWait();
    connection.request.append(bytes.data(), static_cast<size_t>(got));
    const size_t end = connection.request.find("\r\n\r\n");
    if (end == std::string::npos) return connection.request.size() < kMaxRequestBytes;
    connection.answer = Answer(connection.request);
  }
  const ssize_t sent = send(connection.fd.fd(), connection.answer.data() + connection.taken,
                            connection.answer.size() - connection.taken, MSG_NOSIGNAL);
  if (sent < 0) return WouldWait();
  connection.taken += static_cast<size_t>(sent);
  if (connection.taken < connection.answer.size()) return true;
  shutdown(connection.fd.fd(), SHUT_WR);
  return false;
}

std::string PageServer::Answer(std::string_view request) const {
  const std::string_view line = request.substr(0, request.find("\r\n"));
  const size_t first = line.find(' ');
  const size_t second = line.find(' ', first + 1);
  if (first == line.npos || second == line.npos ||
      !line.substr(second + 1).starts_with("HTTP/1.")) {
    return Response("400 Bad Request", "text/plain", "", false);
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  const bool head = method == "HEAD";
  if (!head && method != "GET") {
    return Response("405 Method Not Allowed", "text/plain", "", false);
  }
  if (target.substr(0, target.find('?')) != page_.path) {
    return Response("404 Not Found", "text/plain", "", head);
  }
  return Response("200 OK", page_.content_type, page_.make(), head);
}

}  // namespace sluice::runtime
