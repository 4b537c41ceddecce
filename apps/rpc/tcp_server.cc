// SPDX-License-Identifier: BSD-3-Clause
#include "tcp_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

namespace sluice::rpc_app {
namespace {

/// Bytes per read; limits the unprocessed input from a peer.
constexpr size_t kInputBytes = 4096;
/// Pause if the process lacks a descriptor or memory for a new connection and has no other
/// connection to close.
constexpr std::chrono::milliseconds kPause{10};

bool WouldBlock(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

}  // namespace

TcpServer::TcpServer(std::vector<base::OwnedFd> listeners, engine::rpc::MessageServer& server,
                     TcpLimits limits)
    : listeners_(std::move(listeners)),
      server_(server),
      limits_(limits),
      input_(kInputBytes),
      output_(rpc::kMarkBytes + engine::rpc::MessageServer::kReplyBytes) {}

void TcpServer::Step(std::chrono::milliseconds patience) {
  polled_.clear();
  for (const base::OwnedFd& listener : listeners_) {
    polled_.push_back({listener.fd(), POLLIN, 0});
  }
  for (const Connection& connection : connections_) {
    // A peer that does not read its replies is not polled for more calls.
    const auto event = static_cast<short>(connection.HasReply() ? POLLOUT : POLLIN);
    polled_.push_back({connection.socket.fd(), event, 0});
  }
  if (poll(polled_.data(), polled_.size(), static_cast<int>(patience.count())) > 0) {
    auto ready = polled_.begin() + static_cast<ptrdiff_t>(listeners_.size());
    for (auto connection = connections_.begin(); connection != connections_.end(); ++ready) {
      const bool keep = ready->revents == 0 || Serve(*connection);
      connection = keep ? std::next(connection) : connections_.erase(connection);
    }
    for (size_t i = 0; i < listeners_.size(); ++i) {
      if (polled_[i].revents != 0) Accept(polled_[i].fd);
    }
  }
  CloseSlow();
}

void TcpServer::Accept(int listener) {
  base::OwnedFd socket(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
    if (connections_.empty()) std::this_thread::sleep_for(kPause);
    return CloseOne();
  }
  if (connections_.size() == limits_.connections) CloseOne();
  connections_.emplace_back(std::move(socket), limits_.call_bytes);
}

bool TcpServer::Serve(Connection& connection) {
  if (!connection.HasReply()) return ReadCalls(connection);
  if (!SendReply(connection)) return false;
  return connection.HasReply() || ProcessCalls(connection, std::exchange(connection.rest, {}));
}

bool TcpServer::ReadCalls(Connection& connection) {
  const ssize_t bytes = recv(connection.socket.fd(), input_.data(), input_.size(), 0);
  if (bytes <= 0) return WouldBlock(bytes);
  return ProcessCalls(connection, {input_.data(), static_cast<size_t>(bytes)});
}

bool TcpServer::ProcessCalls(Connection& connection, std::span<const uint8_t> bytes) {
  using State = rpc::RecordReader::State;
  while (!bytes.empty()) {
    const State state = connection.calls.Consume(&bytes);
    if (state == State::kMore) return true;
    if (state == State::kTooLong) return false;
    const uint32_t reply =
        server_.Answer(connection.calls.record(), std::span(output_).subspan(rpc::kMarkBytes));
    if (reply == 0) return false;  // The record is not a call.
    rpc::WriteMark(output_.data(), reply);
    connection.reply.assign(output_.begin(), output_.begin() + rpc::kMarkBytes + reply);
    connection.sent = 0;
    if (!SendReply(connection)) return false;
    if (connection.HasReply()) {
      connection.rest.assign(bytes.begin(), bytes.end());
      return true;
    }
  }
  return true;
}

bool TcpServer::SendReply(Connection& connection) {
  const ssize_t sent = send(connection.socket.fd(), connection.reply.data() + connection.sent,
                            connection.reply.size() - connection.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return WouldBlock(sent);
  connection.sent += static_cast<size_t>(sent);
  if (!connection.HasReply()) connection.since = Clock::now();
  return true;
}

void TcpServer::CloseSlow() {
  const auto now = Clock::now();
  connections_.remove_if(
      [&](const Connection& connection) { return now - connection.since >= limits_.patience; });
}

void TcpServer::CloseOne() {
  const auto oldest = std::ranges::min_element(
      connections_, {}, [](const Connection& connection) { return connection.since; });
  if (oldest != connections_.end()) connections_.erase(oldest);
}

}  // namespace sluice::rpc_app
