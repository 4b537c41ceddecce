// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams to and from numbered endpoints, many per system call.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::kv_client {

/// A kernel UDP socket. Endpoints are numbered in the order in which AddServer adds them; all have
/// the address family of the first one.
class Sockets {
 public:
  static constexpr uint32_t kBurst = 32;
  static constexpr uint32_t kMaxDatagramBytes = 65535;

  Sockets();
  ~Sockets();
  Sockets(const Sockets&) = delete;

  /// Adds `ports` endpoints, starting at `port`. Returns false and sets `error` if `host` cannot be
  /// resolved or no socket can be opened. The endpoints then exist, but datagrams to them are lost.
  bool AddServer(const std::string& host, uint16_t port, uint32_t ports, std::string* error);

  /// Returns the buffer for the next datagram.
  std::span<uint8_t> room() { return {out_[queued_].get(), kMaxDatagramBytes}; }
  /// Queues the datagram in room(), and flushes a full queue. A datagram to an unresolved host is
  /// dropped and counted as a send error.
  void Queue(size_t bytes, uint32_t endpoint);
  /// Sends the queued datagrams. Those that the kernel rejects are dropped and counted as send
  /// errors.
  void Flush();

  /// Returns received datagrams from endpoints, at most kBurst; valid until the next call.
  /// Datagrams from other senders are dropped and counted.
  std::span<const std::span<const uint8_t>> Receive();
  /// Sleeps until a datagram arrives, but at most for `ns` nanoseconds.
  void Wait(uint64_t ns);

  uint64_t send_errors() const { return send_errors_; }
  uint64_t strangers() const { return strangers_; }

 private:
  /// The IPv4 address in the first 4 of 16 bytes, or the IPv6 address in all 16; then the port.
  using Sender = std::array<uint8_t, 18>;
  static Sender SenderOf(const sockaddr_in6& address);
  bool Resolve(const std::string& host, sockaddr_in6* address, std::string* error);

  int socket_ = -1;
  sa_family_t family_ = AF_UNSPEC;
  // sin6_family is the actual family; AF_UNSPEC: unknown host.
  std::vector<sockaddr_in6> endpoints_;
  std::vector<Sender> senders_;  // Sorted.

  uint32_t queued_ = 0;
  std::array<std::unique_ptr<uint8_t[]>, kBurst> out_, in_;
  std::array<iovec, kBurst> out_parts_, in_parts_;
  std::array<mmsghdr, kBurst> out_messages_, in_messages_;
  std::array<sockaddr_in6, kBurst> in_addresses_;
  std::array<std::span<const uint8_t>, kBurst> arrived_;
  uint64_t send_errors_ = 0;
  uint64_t strangers_ = 0;
};

}  // namespace sluice::kv_client
